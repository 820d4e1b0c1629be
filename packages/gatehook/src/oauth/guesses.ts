/**
 * Guessing a client's secret is slowed down: so many failures of one client from one address in a
 * sliding window. In memory: a secret has 256 bits, so this is about noise, not about odds; and
 * a client's own servers elsewhere are never locked out by somebody who knows its id.
 */
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { sha256 } from '../kernel/secret.ts'

const MOST = 20
const WINDOW_MS = 5 * 60_000
const MAX_REMEMBERED = 10_000
/** Longer names are kept as a hash. */
const MAX_PLAIN = 128

export interface Guesses {
  /** Throws `rate_limited` with `Retry-After` where too many failed. */
  refuse(clientId: string, address: string): void
  failed(clientId: string, address: string): void
}

export function createGuesses(clock: Pick<Clock, 'now'>): Guesses {
  const failures = new BoundedMap<string, number[]>(MAX_REMEMBERED)
  // A name nobody registered is as long as a body may be: ten thousand of them fill the memory.
  const nameOf = (clientId: string, address: string) => {
    const name = `${address} ${clientId}`
    return name.length <= MAX_PLAIN ? name : sha256(name).toString('base64url')
  }
  const recent = (name: string) =>
    (failures.get(name) ?? []).filter((at) => at > clock.now() - WINDOW_MS)
  return {
    refuse(clientId, address) {
      const times = recent(nameOf(clientId, address))
      if (times.length < MOST) return
      const waitS = Math.max(1, Math.ceil((times[0]! + WINDOW_MS - clock.now()) / 1000))
      throw new Failure('rate_limited', 'Too many failed attempts. Wait and try again.', {
        headers: { 'retry-after': String(waitS) },
      })
    },
    failed(clientId, address) {
      const name = nameOf(clientId, address)
      const times = [...recent(name), clock.now()].slice(-MOST)
      failures.set(name, times)
    },
  }
}
