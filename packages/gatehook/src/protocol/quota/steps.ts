/**
 * The pipeline steps of the request limit (§11.3), and its headers. `limit` runs before
 * the server reads the body or hashes a password.
 *
 * @see draft-ietf-httpapi-ratelimit-headers-10
 */

import { addressBlock } from '../../kernel/address.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type AnyCode, Failure } from '../../kernel/failure.ts'
import { callerName, type Principal } from '../../kernel/principal.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { After, Call, Step } from '../http/call.ts'
import { ownerOfPrincipal } from '../http/owner.ts'
import type { Limiter, RateLimit, RateLimitVerdict } from './limiter.ts'
import { createLocalDraw, type DrawRequests } from './shared-limiter.ts'
import { createDraw, createLimiter } from './store.ts'
import type { QuotaRate } from './window.ts'

/** The default of a customer's total limit, as a multiple of a credential's limit. */
const TOTAL_FACTOR = 10
/** This part of a person's own limit does not count for the total of the persons. */
const QUIET_DIVISOR = 10
/** Callers that operate the installation may send so many requests, despite a smaller limit. */
const OPERATING_PER_S = 5

export interface Quota {
  /**
   * Counts the request against its credential and customer if `recognize` verified it; else against
   * its address. Throws 429 `rate_limited`.
   */
  readonly limit: Step
  /**
   * Handles a credential that was verified after `limit` (a Basic pair): moves the request from its
   * address to its credential and customer. Throws 429 `rate_limited`.
   */
  readonly limitVerified: Step
  /**
   * Counts a request of a verified principal that does the work of `count` requests, before this
   * work. Throws 429 `rate_limited`; the request itself then counts, because its body was parsed.
   */
  readonly limitItems: LimitItems
  /**
   * Counts `count` requests against the limits of a principal that sent none of them; zero reads
   * the rest. Returns undefined for a principal without limits.
   */
  readonly charge: ChargePrincipal
  /**
   * Ends the request without a count. For handlers of operations with `countsCaller: 'handler'`;
   * `limit` does not count their requests if the caller holds the scope.
   */
  readonly spare: (call: Call) => void
  /**
   * Counts a request that neither `limit` has counted nor a handler has spared, such as one with an
   * invalid body. Throws 429 `rate_limited` in place of its response. A response with a status of
   * 500 or more does not count.
   */
  readonly countUnspared: After
  /** Returns what this node has reserved and not used: of customers, or of all. */
  readonly release: Limiter['release']
}

/** The strictest limit of a principal after a charge. */
export interface ChargeResult {
  /** Whether the requests are within the limits, and counted. */
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Seconds until `remaining` increases. */
  readonly resetS: number
  /** The headers that a response with this result has (§11.3). */
  readonly headers: Readonly<Record<string, string>>
}

type ChargePrincipal = (principal: Principal, count: number) => Promise<ChargeResult | undefined>

export type LimitItems = (call: Call, count: number) => void | Promise<void>

interface NamedLimit extends RateLimit {
  /** The name of the policy in `RateLimit-Policy`. */
  readonly name: 'default' | 'customer'
}

interface QuotaOptions {
  readonly db: Database
  readonly clock: Clock
  /** Returns whether a principal holds the scope of an operation. */
  readonly holdsScope: (principal: Principal, scope: string) => boolean
  /** Whether a principal operates the installation: it must be able to work in an incident. */
  readonly isOperating: (principal: Principal) => boolean
  /** Null limits only customers with limits of their own. */
  readonly rate: QuotaRate | null
  /** Whether the database stores nothing now. */
  readonly isPrimaryAway: () => boolean
}

const STORES_NOTHING: ReadonlySet<AnyCode> = new Set(['storage_unavailable', 'durability_lost'])

/** Draws from the database; from the memory of this node while the database stores nothing. */
function createOutageDraw({ db, isPrimaryAway }: QuotaOptions): DrawRequests {
  const [draw, drawLocally] = [createDraw(db), createLocalDraw()]
  return async (...request) => {
    if (isPrimaryAway()) return drawLocally(...request)
    try {
      return await draw(...request)
    } catch (error) {
      if (!(error instanceof Failure) || !STORES_NOTHING.has(error.code)) throw error
      return drawLocally(...request)
    }
  }
}

/** Creates the steps. */
export function createQuota(options: QuotaOptions): Quota {
  const { db, clock, rate, holdsScope } = options
  // Separate, because unauthenticated callers choose addresses: they evict only each other.
  const addresses = createLimiter(db, clock, createOutageDraw(options))
  const principals = createLimiter(db, clock, createOutageDraw(options))
  const limitsByPrincipal = new WeakMap<Principal, readonly NamedLimit[]>()
  const limitsOf = (principal: Principal): readonly NamedLimit[] => {
    let limits = limitsByPrincipal.get(principal)
    if (!limits) limitsByPrincipal.set(principal, (limits = principalLimits(principal, options)))
    return limits
  }
  const addressLimit = (call: Call, addressRate: QuotaRate): NamedLimit => {
    const address = addressBlock(call.address)
    return call.operation?.declaration?.countsCaller === 'apart'
      ? { name: 'default', key: `apart:${address}`, rate: ofOperating(addressRate) }
      : { name: 'default', key: `address:${address}`, rate: addressRate }
  }
  const countPrincipal = (call: Call, principal: Principal) => {
    const limits = limitsOf(principal)
    return limits.length === 0 ? undefined : applyWhenReady(call, principals.take(limits))
  }

  /** Calls that the handler may spare, until it does. */
  const uncounted = new WeakSet<Call>()
  const countCaller = (call: Call, principal: Principal) => {
    const { declaration, scope } = call.operation ?? {}
    const isRightful = scope === undefined || holdsScope(principal, scope)
    if (declaration?.countsCaller !== 'handler' || !isRightful) {
      return countPrincipal(call, principal)
    }
    uncounted.add(call)
    return undefined
  }

  const limitItems: LimitItems = (call, count) => {
    const limits = limitsOf(call.principal!)
    const furtherCount = count - 1 // the request itself is counted
    if (furtherCount === 0 || limits.length === 0) return
    const exceededLimit = limits.find(({ rate }) => count > rate.limit)
    if (exceededLimit) throw createOversized(call, exceededLimit, count)
    return applyWhenReady(call, principals.take(limits, furtherCount, 1))
  }

  const charge: ChargePrincipal = async (principal, count) => {
    const limits = limitsOf(principal)
    if (limits.length === 0) return undefined
    const exceededLimit = limits.find(({ rate }) => count > rate.limit)
    const verdict = exceededLimit
      ? { ...(await principals.take([exceededLimit], 0)), allowed: false }
      : await principals.take(limits, count)
    const { limit, allowed, remaining, resetMs } = verdict
    const resetS = Math.ceil(resetMs / 1000)
    const headers = limitHeaders(verdict)
    return { allowed, limit: limit.rate.limit, remaining, resetS, headers }
  }

  return {
    limitItems,
    charge,
    release: principals.release,
    spare: (call) => void uncounted.delete(call),
    countUnspared(call, { status }) {
      if (!uncounted.delete(call) || status >= 500) return undefined
      return countPrincipal(call, call.principal!)
    },
    limit(call) {
      if (call.principal) return countCaller(call, call.principal)
      return rate ? applyWhenReady(call, addresses.take([addressLimit(call, rate)])) : undefined
    },
    limitVerified(call) {
      if (!call.principal || call.principal === call.recognized) return undefined
      // After a rejection, the verification of the password still counts for the address.
      const refund = () => {
        if (rate) addresses.refund(addressLimit(call, rate))
      }
      const counting = countCaller(call, call.principal)
      if (counting) return counting.then(refund)
      refund()
      return undefined
    },
  }
}

const ofOperating = ({ limit, windowMs }: QuotaRate): QuotaRate => ({
  limit: Math.max(limit, Math.ceil((OPERATING_PER_S * windowMs) / 1000)),
  windowMs,
})

function principalLimits(
  principal: Principal,
  { rate, isOperating }: Pick<QuotaOptions, 'rate' | 'isOperating'>,
): readonly NamedLimit[] {
  const { customer } = principal
  const limits: NamedLimit[] = []
  const own = principal.rate ?? rate
  if (isOperating(principal)) {
    return own
      ? [{ name: 'default', key: callerName(principal), rate: ofOperating(own), customer }]
      : []
  }
  if (own) {
    limits.push({ name: 'default', key: callerName(principal), rate: own, customer })
  }
  const total = principal.totalRate ?? (own && { ...own, limit: own.limit * TOTAL_FACTOR })
  if (total) {
    const isPerson = principal.kind === 'person'
    limits.push({
      name: 'customer',
      key: `total:${ownerOfPrincipal(principal).group}`,
      rate: total,
      customer,
      ...(isPerson && own && { exemptCount: Math.ceil(own.limit / QUIET_DIVISOR) }),
    })
  }
  return limits
}

/** Creates the failure of a request that exceeds a limit on its own. */
function createOversized(call: Call, { name, rate }: NamedLimit, count: number): Failure {
  const windowS = rate.windowMs / 1000
  call.out['ratelimit-policy'] = `"${name}";q=${rate.limit};w=${windowS}`
  const message =
    `The request counts as ${count}, one for each item, and the limit is ${rate.limit} in ` +
    `${windowS} s. Send at most ${rate.limit} items.`
  return new Failure('rate_limited', message, {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(windowS))) },
  })
}

const applyWhenReady = (
  call: Call,
  verdict: RateLimitVerdict<NamedLimit> | Promise<RateLimitVerdict<NamedLimit>>,
): void | Promise<void> =>
  verdict instanceof Promise
    ? verdict.then((value) => applyVerdict(call, value))
    : applyVerdict(call, verdict)

/** Returns the headers of a verdict; `Retry-After` of a rejection only. */
function limitHeaders({ limit, allowed, remaining, resetMs }: RateLimitVerdict<NamedLimit>) {
  const { name, rate } = limit
  const resetS = Math.ceil(resetMs / 1000)
  return {
    'ratelimit-policy': `"${name}";q=${rate.limit};w=${rate.windowMs / 1000}`,
    ratelimit: `"${name}";r=${allowed ? remaining : 0};t=${resetS}`,
    ...(!allowed && { 'retry-after': String(Math.max(1, resetS)) }),
  }
}

function applyVerdict(call: Call, verdict: RateLimitVerdict<NamedLimit>): void {
  const { 'retry-after': retryAfter, ...headers } = limitHeaders(verdict)
  Object.assign(call.out, headers)
  if (retryAfter === undefined) return
  throw new Failure('rate_limited', undefined, { headers: { 'retry-after': retryAfter } })
}
