/**
 * Limits of POSTs outside of the delivery queue, per customer and minute: the pings that verify
 * receivers, and test deliveries (§9.1, §9.3). Deleted registrations count.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { retryAfterS } from '../../kernel/time.ts'
import type { Limiter } from '../../protocol/quota/limiter.ts'

const WINDOW_MS = 60_000
const PER_CUSTOMER = 60
const TESTS_PER_REGISTRATION = 10

/** Each function throws 429 `rate_limited` with `Retry-After`. */
export interface PostLimits {
  countRegistration(principal: Principal): Promise<void>
  /** Counts a ping that verifies a changed URL, or a registration that becomes active. */
  countVerification(principal: Principal): Promise<void>
  countTest(principal: Principal, registrationId: string): Promise<void>
}

/** A limit by key. `label` describes the requests in the message. */
const limitOf = (key: string, most: number, label: string) => ({
  key: `webhook ${key}`,
  rate: { limit: most, windowMs: WINDOW_MS },
  label,
})

export function createPostLimits(limiter: Limiter): PostLimits {
  const count = async (...limits: readonly ReturnType<typeof limitOf>[]): Promise<void> => {
    const { allowed, resetMs, limit } = await limiter.take(limits)
    if (allowed) return
    throw new Failure('rate_limited', `At most ${limit.rate.limit} ${limit.label} a minute.`, {
      headers: { 'retry-after': String(retryAfterS(resetMs)) },
    })
  }
  return {
    countRegistration: ({ customer }) =>
      count(limitOf(`register:${customer}`, PER_CUSTOMER, 'new registrations of a customer')),
    countVerification: ({ customer }) =>
      count(limitOf(`verify:${customer}`, PER_CUSTOMER, 'verified receivers of a customer')),
    countTest: ({ customer }, id) =>
      count(
        limitOf(`test:${id}`, TESTS_PER_REGISTRATION, 'test deliveries of a registration'),
        limitOf(`tests:${customer}`, PER_CUSTOMER, 'test deliveries of a customer'),
      ),
  }
}
