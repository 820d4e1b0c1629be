/**
 * Limits failed authentications of a client: 20 per client and address in 5 minutes, in memory. A
 * secret has 256 bits, so the limit protects the log and the CPU. It counts per address, so that
 * knowledge of a client's id is not enough to lock the client out.
 */

import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { sha256 } from '../../kernel/secret.ts'
import { retryAfterS } from '../../kernel/time.ts'

const MAX_FAILURES = 20
const WINDOW_MS = 5 * 60_000
const MAX_ENTRIES = 10_000
/** Longer keys are stored as a hash. */
const MAX_KEY_CHARACTERS = 128

export interface SecretThrottle {
  /** Throws 429 `rate_limited` with `Retry-After` after too many failures. */
  check(clientId: string, address: string): void
  recordFailure(clientId: string, address: string): void
}

export function createSecretThrottle(clock: Pick<Clock, 'now'>): SecretThrottle {
  const failures = new BoundedMap<string, readonly number[]>(MAX_ENTRIES)
  // A request may contain a client id of the length of its body, so long keys are hashed.
  const keyOf = (clientId: string, address: string) => {
    const key = `${address} ${clientId}`
    return key.length <= MAX_KEY_CHARACTERS ? key : sha256(key).toString('base64url')
  }
  const recentFailures = (key: string) =>
    (failures.get(key) ?? []).filter((at) => at > clock.now() - WINDOW_MS)
  return {
    check(clientId, address) {
      const times = recentFailures(keyOf(clientId, address))
      if (times.length < MAX_FAILURES) return
      const waitS = retryAfterS(times[0]! + WINDOW_MS - clock.now())
      throw new Failure('rate_limited', 'Too many failed attempts. Wait before the next one.', {
        headers: { 'retry-after': String(waitS) },
      })
    },
    recordFailure(clientId, address) {
      const key = keyOf(clientId, address)
      failures.set(key, [...recentFailures(key), clock.now()].slice(-MAX_FAILURES))
    },
  }
}
