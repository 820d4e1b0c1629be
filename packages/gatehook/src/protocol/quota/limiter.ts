/**
 * Counts requests against rates (§11.3). A single node counts in memory. Several nodes draw blocks
 * of requests from a count in the database. So they stay within the limit and rarely query it.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import {
  addUse,
  currentSlices,
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

interface Charge<L extends RateLimit> {
  readonly limit: L
  readonly count: number
}

type PendingVerdict<L extends RateLimit> = RateLimitVerdict<L> | Promise<RateLimitVerdict<L>>

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
}

/**
 * Reserves from `least` to `most` requests of a subject, as many as all nodes together have left;
 * none if that is fewer than `least`. With a `most` of zero it reads the use, and changes nothing.
 */
export type DrawRequests = (
  key: string,
  rate: QuotaRate,
  nowMs: number,
  count: { readonly least: number; readonly most: number },
) => Promise<{
  readonly granted: number
  /** The use of all nodes, including this reservation. */
  readonly slices: readonly Slice[]
}>

const MAX_KEYS = 100_000
/** A node reports the use that it has read, without a reservation, for this time. */
const READ_MS = 1000
/** A block is 1/50 of the limit: five nodes with an unused block each stay within a tenth of it. */
const BLOCKS_PER_LIMIT = 50
const NO_SLICES: readonly Slice[] = []

/** Returns the limits against which requests count, and how many of them. */
function chargesOf<L extends RateLimit>(
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
function stricter<L extends RateLimit>(
  first: RateLimitVerdict<L> | undefined,
  second: RateLimitVerdict<L>,
): RateLimitVerdict<L> {
  if (!first) return second
  if (first.allowed !== second.allowed) return first.allowed ? second : first
  if (!first.allowed) return first.resetMs >= second.resetMs ? first : second
  return first.remaining <= second.remaining ? first : second
}

const createVerdict = <L extends RateLimit>(
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
      ? (slices[0]?.untilMs ?? nowMs + limit.rate.windowMs) - nowMs
      : waitMs(limit.rate, slices, nowMs, count + pastCount),
})

/** Creates a limiter that counts in the memory of this node. */
export function createLocalLimiter(clock: Clock): Limiter {
  const windows = new BoundedMap<string, readonly Slice[]>(MAX_KEYS)
  const slicesOf = (key: string, now: number) => currentSlices(windows.get(key) ?? NO_SLICES, now)
  return {
    take<L extends RateLimit>(limits: readonly L[], count = 1, pastCount = 0) {
      const now = clock.now()
      const charges = chargesOf(limits, count, ({ key }) => sumUsed(slicesOf(key, now)))
      let verdict: RateLimitVerdict<L> | undefined
      for (const { limit, count } of charges) {
        const slices = slicesOf(limit.key, now)
        // The use may exceed a limit that was lowered.
        const left = Math.max(0, limit.rate.limit - sumUsed(slices))
        verdict = stricter(verdict, createVerdict(limit, slices, now, { left, count, pastCount }))
      }
      for (const { limit, count } of charges) {
        const slices = slicesOf(limit.key, now)
        const isCounted = verdict!.allowed && count > 0
        const used = isCounted ? addUse(limit.rate, slices, now, count) : slices
        windows.set(limit.key, used)
      }
      return verdict!
    },
    refund({ key }) {
      const slices = windows.get(key)
      if (slices) windows.set(key, removeUse(slices))
    },
  }
}

/** Returns a function that draws from counts in the memory of this node. */
export function createLocalDraw(): DrawRequests {
  const windows = new BoundedMap<string, readonly Slice[]>(MAX_KEYS)
  return async (key, rate, nowMs, { least, most }) => {
    const slices = currentSlices(windows.get(key) ?? NO_SLICES, nowMs)
    const left = rate.limit - sumUsed(slices)
    if (most === 0 || left < least) return { granted: 0, slices }
    const granted = Math.min(most, left)
    const used = addUse(rate, slices, nowMs, granted)
    windows.set(key, used)
    return { granted, slices: used }
  }
}

/** Requests of a subject that this node has reserved. */
interface Block {
  /** The use of all nodes when the block was drawn; the whole block counts as used. */
  readonly slices: readonly Slice[]
  /** Requests reserved and not yet used. */
  left: number
  /** Epoch milliseconds until which `left` may be used. */
  readonly untilMs: number
  /** Requests that all nodes together did not have left, and when they have: epoch milliseconds. */
  readonly refusal?: { readonly count: number; readonly untilMs: number }
}

const leftOf = (block: Block | undefined, now: number): number =>
  block && now < block.untilMs ? block.left : 0

const usedBy = (block: Block | undefined, now: number): number =>
  block ? sumUsed(currentSlices(block.slices, now)) - block.left : 0

/** Returns whether a block determines a verdict without the database. */
function determinesVerdict(
  block: Block | undefined,
  rate: QuotaRate,
  now: number,
  count: number,
): boolean {
  if (!block || now >= block.untilMs) return false
  const { left, refusal, slices } = block
  if (refusal && count >= refusal.count && now < refusal.untilMs) return true
  // An empty block rejects requests until the use of all nodes has expired.
  return left >= count || waitMs(rate, currentSlices(slices, now), now) > 0
}

/** Creates a limiter that shares its counts with other nodes. */
export function createSharedLimiter(clock: Clock, draw: DrawRequests): Limiter {
  const blocks = new BoundedMap<string, Block>(MAX_KEYS)
  const pendingDraws = new Map<string, Promise<void>>()

  const isDecisive = ({ key, rate }: RateLimit, now: number, count: number): boolean =>
    determinesVerdict(blocks.get(key), rate, now, count)
  const drawBlock = async ({ key, rate }: RateLimit, count: number): Promise<void> => {
    const now = clock.now()
    const least = count - leftOf(blocks.get(key), now)
    const most = Math.max(least, Math.ceil(rate.limit / BLOCKS_PER_LIMIT))
    const { granted, slices } = await draw(key, rate, now, { least, most })
    // Meanwhile, other requests may have spent the rest of the block.
    const left = leftOf(blocks.get(key), now)
    const untilMs = left > 0 ? blocks.get(key)!.untilMs : now + rate.windowMs
    const refusal = { count, untilMs: now + waitMs(rate, slices, now, least) }
    blocks.set(key, {
      slices,
      left: left + granted,
      untilMs,
      ...(granted === 0 && { refusal }),
    })
  }
  /** Reads the use of all nodes, if this node has no block that is valid. */
  const readUse = async ({ key, rate }: RateLimit): Promise<void> => {
    const { slices } = await draw(key, rate, clock.now(), { least: 0, most: 0 })
    const untilMs = clock.now() + Math.min(READ_MS, rate.windowMs)
    blocks.set(key, { slices, left: 0, untilMs })
  }
  /** Draws one block at a time for a key; concurrent requests share it. */
  const drawShared = (limit: RateLimit, count: number): Promise<void> => {
    const pending = pendingDraws.get(limit.key)
    if (pending) return pending
    const begun = count === 0 ? readUse(limit) : drawBlock(limit, count)
    const drawing = begun.finally(() => pendingDraws.delete(limit.key))
    pendingDraws.set(limit.key, drawing)
    return drawing
  }
  const spend = <L extends RateLimit>(
    charges: readonly Charge<L>[],
    now: number,
    pastCount = 0,
  ): RateLimitVerdict<L> => {
    let verdict: RateLimitVerdict<L> | undefined
    for (const { limit, count } of charges) {
      const block = blocks.get(limit.key)!
      const slices = currentSlices(block.slices, now)
      const all = Math.max(0, limit.rate.limit - sumUsed(slices) + block.left)
      // Of an empty block, no request is left without another draw.
      const left = block.left > 0 || count === 0 ? all : 0
      verdict = stricter(verdict, createVerdict(limit, slices, now, { left, count, pastCount }))
    }
    for (const { limit, count } of charges) {
      const block = blocks.get(limit.key)!
      if (verdict!.allowed) block.left -= count
      blocks.set(limit.key, block)
    }
    return verdict!
  }
  /** Returns the rest of the limits. A database that takes longer than `READ_MS` is read once. */
  const read = <L extends RateLimit>(limits: readonly L[]): PendingVerdict<L> => {
    const charges = limits.map((limit) => ({ limit, count: 0 }))
    const unread = limits.filter((limit) => !isDecisive(limit, clock.now(), 0))
    if (unread.length === 0) return spend(charges, clock.now())
    const pending = unread.map((limit) => drawShared(limit, 0))
    return Promise.all(pending).then(() => spend(charges, clock.now()))
  }
  const take = <L extends RateLimit>(
    limits: readonly L[],
    count = 1,
    pastCount = 0,
  ): PendingVerdict<L> => {
    if (count === 0) return read(limits)
    const now = clock.now()
    const charges = chargesOf(limits, count, ({ key }) => usedBy(blocks.get(key), now))
    const undecidedCharge = charges.find((charge) => !isDecisive(charge.limit, now, charge.count))
    return undecidedCharge
      ? drawShared(undecidedCharge.limit, undecidedCharge.count).then(() =>
          take(limits, count, pastCount),
        )
      : spend(charges, now, pastCount)
  }
  return {
    take,
    refund({ key }) {
      const block = blocks.get(key)
      if (block) block.left += 1
    },
  }
}
