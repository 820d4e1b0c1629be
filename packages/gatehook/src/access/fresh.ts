/**
 * What the database says, remembered for a second at most: so every node follows a change within
 * two (§3.10), and a busy caller costs no request a look-up.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'

/** Older than this, an answer is looked up again beside the request that uses it. */
const REFRESH_MS = 500
/** Older than this, it is not used any more: the request waits. */
const FRESH_MS = 1000
const MAX_REMEMBERED = 10_000

export interface Fresh<K, T> {
  /** At once where it is remembered; those who come together share one look-up. */
  get(id: K): T | Promise<T | undefined>
  /** Looks nothing up. */
  remembered(id: K): T | undefined
  /** Something was changed here; without an id, perhaps anything. */
  forget(id?: K): void
}

export interface FreshDeps {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** Takes the look-ups nobody waits for; without it there are none. */
  readonly beside?: (lookUp: Promise<unknown>) => void
}

interface Known<T> {
  readonly value: T
  readonly loadedMs: number
}

/** `load` is told what is remembered already, however old. Nothing is remembered of who is not. */
export function createFresh<K, T>(
  load: (id: K, before: T | undefined) => Promise<T | undefined>,
  { clock, beside }: FreshDeps,
): Fresh<K, T> {
  const known = new Map<K, Known<T>>()
  const flights = new Map<K, Promise<T | undefined>>()

  const look = async (id: K): Promise<T | undefined> => {
    const loadedMs = clock.elapsedMs()
    const mine = () => flights.get(id) === flight
    const flight = load(id, known.get(id)?.value)
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
      if (age >= REFRESH_MS && beside && !flights.has(id)) beside(look(id))
      return entry!.value
    },
    remembered(id) {
      const entry = known.get(id)
      return ageOf(entry) < FRESH_MS ? entry!.value : undefined
    },
    forget(id) {
      for (const map of [known, flights]) {
        if (id === undefined) map.clear()
        else map.delete(id)
      }
    },
  }
}

/** Work nobody waits for, until the end; `what` is said where it fails. */
export function background(log: Log) {
  const running = new Set<Promise<unknown>>()
  return {
    behind(work: Promise<unknown>, what: string) {
      const done = work
        .catch((error: unknown) => log.warn({ err: error }, what))
        .finally(() => running.delete(done))
      running.add(done)
    },
    /** Resolves when nothing runs any more: before the database is closed. */
    async idle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
