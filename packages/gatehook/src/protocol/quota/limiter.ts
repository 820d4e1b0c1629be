/**
 * Counts requests against rates (§11.3): the interface, verdicts, and the limiter of a single node,
 * which counts in memory. `shared-limiter.ts` is that of several nodes.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import {
  addUse,
  currentSlices,
  expiryMs,
  type QuotaRate,
  removeUse,
  type Slice,
  sumUsed,
  waitMs,
} from './window.ts'

/** A rate, and the subject whose requests it counts. */
export interface RateLimit {
  readonly key: string
  readonly rate: QuotaRate
  /** The customer whose settings determine the rate. Default: none. */
  readonly customer?: string
  /** So many requests of the first limit in a list do not count here. Default: none. */
  readonly exemptCount?: number
}

/** The result for a request: of an exceeded limit, else of the one with fewest requests left. */
export interface RateLimitVerdict<L extends RateLimit = RateLimit> {
  readonly limit: L
  readonly allowed: boolean
  /** Requests left now. */
  readonly remaining: number
  /** Milliseconds until `remaining` increases: until the oldest use expires. */
  readonly resetMs: number
}

export interface Charge<L extends RateLimit> {
  readonly limit: L
  readonly count: number
}

export type PendingVerdict<L extends RateLimit> = RateLimitVerdict<L> | Promise<RateLimitVerdict<L>>

export interface Limiter {
  /**
   * Counts `count` requests, at most each limit, against all of one or more limits, or against none
   * if one is exceeded. Returns a promise only if it queries the database. Default: one request.
   * Zero reads the rest: it is always allowed, and reserves nothing.
   * `pastCount`: so many that `take` counted before are repeated with these after a rejection.
   */
  take<L extends RateLimit>(
    limits: readonly L[],
    count?: number,
    pastCount?: number,
  ): PendingVerdict<L>
  /** Reverts one request that `take` counted. */
  refund(limit: RateLimit): void
  /**
   * Returns to the count of all nodes what this node has reserved and not used: of customers whose
   * settings have changed, or of all. A limit that was lowered then counts used requests only.
   */
  release(customers?: ReadonlySet<string>): Promise<void>
}

export const MAX_KEYS = 100_000
export const NO_SLICES: readonly Slice[] = []

/** Returns the limits against which requests count, and how many of them. */
export function chargesOf<L extends RateLimit>(
  limits: readonly L[],
  count: number,
  usedOf: (limit: L) => number,
): readonly Charge<L>[] {
  const used = usedOf(limits[0]!)
  const charges = limits.map((limit) => {
    const { exemptCount } = limit
    const excess = exemptCount === undefined ? count : used + count - exemptCount
    return { limit, count: Math.max(0, Math.min(count, excess)) }
  })
  return count === 0 ? charges : charges.filter((charge) => charge.count > 0)
}

/** Returns the stricter verdict: a rejection first, then the one with fewer requests left. */
export function stricter<L extends RateLimit>(
  first: RateLimitVerdict<L> | undefined,
  second: RateLimitVerdict<L>,
): RateLimitVerdict<L> {
  if (!first) return second
  if (first.allowed !== second.allowed) return first.allowed ? second : first
  if (!first.allowed) return first.resetMs >= second.resetMs ? first : second
  return first.remaining <= second.remaining ? first : second
}

export const createVerdict = <L extends RateLimit>(
  limit: L,
  slices: readonly Slice[],
  nowMs: number,
  { left, count, pastCount }: Readonly<Record<'left' | 'count' | 'pastCount', number>>,
): RateLimitVerdict<L> => ({
  limit,
  allowed: left >= count,
  remaining: Math.max(0, left - count),
  resetMs:
    left >= count
      ? expiryMs(limit.rate, slices[0] ?? { lastMs: nowMs }, nowMs)
      : waitMs(limit.rate, slices, nowMs, count + pastCount),
})

/** Creates a limiter that counts in the memory of this node. */
export function createLocalLimiter(clock: Clock): Limiter {
  const windows = new BoundedMap<string, readonly Slice[]>(MAX_KEYS)
  const slicesOf = ({ key, rate }: RateLimit, now: number) =>
    currentSlices(rate, windows.get(key) ?? NO_SLICES, now)
  return {
    take<L extends RateLimit>(limits: readonly L[], count = 1, pastCount = 0) {
      const now = clock.now()
      const charges = chargesOf(limits, count, (limit) => sumUsed(slicesOf(limit, now)))
      let verdict: RateLimitVerdict<L> | undefined
      for (const { limit, count } of charges) {
        const slices = slicesOf(limit, now)
        // The use may exceed a limit that was lowered.
        const left = Math.max(0, limit.rate.limit - sumUsed(slices))
        verdict = stricter(verdict, createVerdict(limit, slices, now, { left, count, pastCount }))
      }
      for (const { limit, count } of charges) {
        const slices = slicesOf(limit, now)
        const isCounted = verdict!.allowed && count > 0
        const used = isCounted ? addUse(limit.rate, slices, now, count) : slices
        windows.set(limit.key, used)
      }
      return verdict!
    },
    refund({ key }) {
      const slices = windows.get(key)
      if (slices) windows.set(key, removeUse(slices, 1))
    },
    release: async () => {},
  }
}
