/**
 * What the database says, remembered for a second at most: so every node follows a change within
 * two, and a busy caller costs no request a look-up.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'

/** Older than this, an answer is looked up again beside the request that uses it. */
const REFRESH_MS = 500
/** Older than this, it is not used any more: the request waits. */
const FRESH_MS = 1000
const MAX_REMEMBERED = 10_000

export interface Fresh<T> {
  /** At once where it is remembered. */
  get(id: number): T | Promise<T | undefined>
  /** Something was changed here. */
  forget(id: number): void
  /** Resolves when nothing is looked up in the background. */
  idle(): Promise<void>
}

interface Known<T> {
  readonly value: T
  readonly loadedMs: number
}

export function createFresh<T>(
  load: (id: number) => Promise<T | undefined>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Fresh<T> {
  const known = new Map<number, Known<T>>()
  const flights = new Map<number, Promise<T | undefined>>()

  const look = async (id: number): Promise<T | undefined> => {
    const loadedMs = clock.elapsedMs()
    const mine = () => flights.get(id) === flight
    const flight = load(id)
    flights.set(id, flight)
    try {
      const value = await flight
      // Forgotten meanwhile: right for those who wait, but not for later ones.
      if (!mine()) return value
      known.delete(id)
      if (value !== undefined) known.set(id, { value, loadedMs })
      if (known.size > MAX_REMEMBERED) known.delete(known.keys().next().value!)
      return value
    } finally {
      if (mine()) flights.delete(id)
    }
  }
  const ageOf = (entry: Known<T> | undefined): number =>
    entry ? clock.elapsedMs() - entry.loadedMs : Number.POSITIVE_INFINITY

  return {
    get(id) {
      const entry = known.get(id)
      const age = ageOf(entry)
      if (age >= FRESH_MS) return flights.get(id) ?? look(id)
      if (age >= REFRESH_MS && !flights.has(id)) {
        look(id).catch((error: unknown) => log.warn({ err: error }, 'a person was not looked up'))
      }
      return entry!.value
    },
    forget(id) {
      known.delete(id)
      flights.delete(id)
    },
    async idle() {
      await Promise.allSettled(flights.values())
    },
  }
}
