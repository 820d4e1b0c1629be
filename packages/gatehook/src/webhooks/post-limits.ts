/**
 * How many POSTs outside of the delivery queue a customer causes in a minute: the pings of
 * registrations and of changes, and test deliveries (§9.1, §9.3). Deleted registrations count.
 */
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Limit, Limiter } from '../quota/limiter.ts'

const WINDOW_MS = 60_000
const PER_CUSTOMER = 60
const TESTS_PER_REGISTRATION = 10

/** Each throws 429 `rate_limited` with `Retry-After`. */
export interface PostLimits {
  /** A ping that verifies a new registration. */
  registering(principal: Principal): Promise<void>
  /** A ping that verifies a changed URL, or one that is switched on again. */
  verifying(principal: Principal): Promise<void>
  testing(principal: Principal, registrationId: string): Promise<void>
}

interface PostLimit extends Limit {
  /** What is counted, for the message. */
  readonly what: string
}

const limit = (key: string, most: number, what: string): PostLimit => ({
  key: `webhook ${key}`,
  rate: { limit: most, windowMs: WINDOW_MS },
  what,
})

export function createPostLimits(limiter: Limiter): PostLimits {
  const take = async (...limits: readonly PostLimit[]): Promise<void> => {
    const { allowed, resetMs, limit } = await limiter.take(limits)
    if (allowed) return
    throw new Failure('rate_limited', `At most ${limit.rate.limit} ${limit.what} a minute.`, {
      headers: { 'retry-after': String(Math.max(1, Math.ceil(resetMs / 1000))) },
    })
  }
  return {
    registering: ({ customer }) =>
      take(limit(`register:${customer}`, PER_CUSTOMER, 'registrations of a customer are created')),
    verifying: ({ customer }) =>
      take(limit(`verify:${customer}`, PER_CUSTOMER, 'receivers of a customer are verified again')),
    testing: ({ customer }, id) =>
      take(
        limit(`test:${id}`, TESTS_PER_REGISTRATION, 'tests of a registration are sent'),
        limit(`tests:${customer}`, PER_CUSTOMER, 'tests of a customer are sent'),
      ),
  }
}
