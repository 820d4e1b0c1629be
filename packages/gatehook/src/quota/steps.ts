/**
 * Steps of the pipeline: the request limit (§11.3), and its headers
 * (draft-ietf-httpapi-ratelimit-headers-10). `limit` runs before any other work for a request.
 */
import type { Call, Step } from '../http/call.ts'
import { addressBlock } from '../kernel/address.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Database } from '../storage/database.ts'
import { type Limit, type Limiter, localLimiter, sharedLimiter, type Verdict } from './limiter.ts'
import { drawFrom } from './store.ts'
import type { Rate } from './window.ts'

/** A customer's total, where it has none of its own, is this multiple of a credential's limit. */
const TOTAL_FACTOR = 10

export interface QuotaSteps {
  /**
   * Counts the request against its credential and customer where `recognize` verified it, else
   * against its address. Throws `rate_limited`.
   */
  readonly limit: Step
  /**
   * A credential that was verified only after `limit` (a Basic pair): takes the request back from
   * its address and counts it against the credential and customer. Throws `rate_limited`.
   */
  readonly limitVerified: Step
}

interface NamedLimit extends Limit {
  /** The policy's name in `RateLimit-Policy`. */
  readonly name: 'default' | 'customer'
}

export interface Limiters {
  readonly addresses: Limiter
  /** Apart from the addresses, which anonymous callers can make up: they evict only each other. */
  readonly principals: Limiter
}

/** Counted in memory by one node, in the database by several. */
export function createQuota(db: Database, clock: Clock, rate: Rate | null): QuotaSteps {
  const limiter = () =>
    db.dialect.shared ? sharedLimiter(clock, drawFrom(db)) : localLimiter(clock)
  return quotaSteps({ addresses: limiter(), principals: limiter() }, rate)
}

/** `rate` null: no limit, no headers, except for a customer that has limits of its own. */
export function quotaSteps({ addresses, principals }: Limiters, rate: Rate | null): QuotaSteps {
  const limitsByPrincipal = new WeakMap<Principal, readonly NamedLimit[]>()
  const limitsOf = (principal: Principal): readonly NamedLimit[] => {
    let limits = limitsByPrincipal.get(principal)
    if (!limits) limitsByPrincipal.set(principal, (limits = principalLimits(principal, rate)))
    return limits
  }
  const addressLimit = (call: Call, applied: Rate): NamedLimit => ({
    name: 'default',
    key: `address:${addressBlock(call.address)}`,
    rate: applied,
  })
  const countPrincipal = (call: Call, principal: Principal) => {
    const limits = limitsOf(principal)
    return limits.length === 0 ? undefined : settle(call, principals.take(limits))
  }

  return {
    limit(call) {
      if (call.principal) return countPrincipal(call, call.principal)
      return rate ? settle(call, addresses.take([addressLimit(call, rate)])) : undefined
    },
    limitVerified(call) {
      if (!call.principal || call.principal === call.recognized) return undefined
      if (rate) addresses.giveBack(addressLimit(call, rate))
      return countPrincipal(call, call.principal)
    },
  }
}

function principalLimits(principal: Principal, rate: Rate | null): readonly NamedLimit[] {
  const limits: NamedLimit[] = []
  const own = principal.rate ?? rate
  if (own) {
    const { kind, subject, scope } = principal
    limits.push({ name: 'default', key: `${kind}:${subject}:${scope}`, rate: own })
  }
  const total = principal.totalRate ?? (own && { ...own, limit: own.limit * TOTAL_FACTOR })
  // Operators repair what a customer's flood broke: the total of `default` does not stop them.
  if (total && principal.kind !== 'operator') {
    limits.push({ name: 'customer', key: `customer:${principal.customer}`, rate: total })
  }
  return limits
}

type Pending = Verdict<NamedLimit> | Promise<Verdict<NamedLimit>>

const settle = (call: Call, pending: Pending): void | Promise<void> =>
  pending instanceof Promise
    ? pending.then((verdict) => applyVerdict(call, verdict))
    : applyVerdict(call, pending)

function applyVerdict(call: Call, { limit, allowed, remaining, resetMs }: Verdict<NamedLimit>) {
  const { name, rate } = limit
  const resetS = Math.ceil(resetMs / 1000)
  call.out['ratelimit-policy'] = `"${name}";q=${rate.limit};w=${rate.windowMs / 1000}`
  call.out.ratelimit = `"${name}";r=${allowed ? remaining : 0};t=${resetS}`
  if (allowed) return
  throw new Failure('rate_limited', undefined, {
    headers: { 'retry-after': String(Math.max(1, resetS)) },
  })
}
