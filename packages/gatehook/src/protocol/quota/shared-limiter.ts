/**
 * Counts requests against rates of several nodes (§11.3). A node draws blocks of requests from a
 * count in the database, so that all stay within the limit and rarely query it.
 *
 * Other nodes count a block as used. Therefore the first block of a subject is small, and each
 * further one at most twice as large: a killed node loses about as many requests as it used. When
 * the settings of a customer change, and at its end, a node returns its unused requests.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import {
  type Charge,
  chargesOf,
  createVerdict,
  type Limiter,
  MAX_KEYS,
  NO_SLICES,
  type PendingVerdict,
  type RateLimit,
  type RateLimitVerdict,
  stricter,
} from './limiter.ts'
import {
  addUse,
  currentSlices,
  latestMs,
  type QuotaRate,
  removeUse,
  type Slice,
  sumUsed,
  waitMs,
} from './window.ts'

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
  /** The slice that counts the reservation, if all nodes share its count. */
  readonly sliceNo?: number
}>

/** Requests that a node has reserved and not used. */
interface UnusedRequests {
  readonly key: string
  /** The slice that counts them. */
  readonly sliceNo: number
  readonly count: number
}

/** Returns reservations to the count of all nodes. */
export type ReturnRequests = (unused: readonly UnusedRequests[]) => Promise<void>

/** A node rejects requests, and reports the use of all nodes, by a count of this age at most. */
const READ_MS = 1000
/** A block is 1/50 of the limit: five nodes with an unused block each stay within a tenth of it. */
const BLOCKS_PER_LIMIT = 50
/** Requests of the first block of a subject. */
const FIRST_BLOCK = 4
/** A node returns so many reservations at most, the largest ones; the others expire. */
const MAX_RETURNED = 1000

/** Returns a function that draws from counts in the memory of this node. */
export function createLocalDraw(): DrawRequests {
  const windows = new BoundedMap<string, readonly Slice[]>(MAX_KEYS)
  return async (key, rate, nowMs, { least, most }) => {
    const slices = currentSlices(rate, windows.get(key) ?? NO_SLICES, nowMs)
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
  /** The use of all nodes when the node read it; the whole block counts as used. */
  slices: readonly Slice[]
  /** Epoch milliseconds at which the node read `slices`. */
  readonly readMs: number
  /** Requests reserved and not yet used. */
  left: number
  /** Epoch milliseconds until which `left` may be used. */
  untilMs: number
  /** The next block is at most twice as large. */
  readonly size: number
  /** The slice that counts the latest reservation, if all nodes share its count. */
  readonly sliceNo: number | undefined
  readonly customer: string | undefined
  /** Requests that all nodes together did not have left, and when they have: epoch milliseconds. */
  readonly refusal?: { readonly count: number; readonly untilMs: number }
}

/** Whether the rest of a block may be used; not if the clock was set back since it was read. */
const isUsable = (block: Block | undefined, now: number): block is Block =>
  block !== undefined && now < block.untilMs && block.readMs <= latestMs(now)

const leftOf = (block: Block | undefined, now: number): number =>
  isUsable(block, now) ? block.left : 0

const usedBy = (block: Block | undefined, rate: QuotaRate, now: number): number =>
  block ? Math.max(0, sumUsed(currentSlices(rate, block.slices, now)) - block.left) : 0

/** Returns the size of the next block, which doubles while the node uses its blocks up. */
const nextSize = (block: Block | undefined, rate: QuotaRate, now: number): number => {
  const size = isUsable(block, now) ? block.size * 2 : 0
  return Math.min(Math.ceil(rate.limit / BLOCKS_PER_LIMIT), Math.max(FIRST_BLOCK, size))
}

/** Returns whether a block determines a verdict without the database. */
function determinesVerdict(
  block: Block | undefined,
  rate: QuotaRate,
  now: number,
  count: number,
): boolean {
  if (!isUsable(block, now)) return false
  const { left, refusal, readMs } = block
  // The use may exceed a limit that was lowered.
  const isWithin = count === 0 || usedBy(block, rate, now) + count <= rate.limit
  if (left >= Math.max(1, count) && isWithin) return true
  // Since then, other nodes may have returned requests, the limit may have been raised, or the
  // clock set back.
  if (Math.abs(now - readMs) >= READ_MS) return false
  if (count === 0 || (refusal && count >= refusal.count && now < refusal.untilMs)) return true
  return waitMs(rate, currentSlices(rate, block.slices, now), now) > 0
}

type Blocks = BoundedMap<string, Block>

/**
 * Creates a function that draws the block of a subject, or with a count of zero reads its use. It
 * draws one block at a time; concurrent requests share it.
 */
function createBlockDrawer(clock: Clock, draw: DrawRequests, blocks: Blocks) {
  const pendingDraws = new Map<string, Promise<void>>()
  /** Reserves requests, or reads the use of all nodes if this node has reserved enough. */
  const drawBlock = async ({ key, rate, customer }: RateLimit, count: number): Promise<void> => {
    const now = clock.now()
    const least = count - leftOf(blocks.get(key), now)
    const size = nextSize(blocks.get(key), rate, now)
    const most = least > 0 ? Math.max(least, size) : 0
    const { granted, slices, sliceNo } = await draw(key, rate, now, { least, most })
    // Meanwhile, other requests may have spent the rest of the block.
    const block = blocks.get(key)
    const left = leftOf(block, now)
    const refusal = { count, untilMs: now + waitMs(rate, slices, now, least) }
    blocks.set(key, {
      slices,
      readMs: clock.now(),
      left: left + granted,
      untilMs: left > 0 ? block!.untilMs : now + rate.windowMs,
      size,
      sliceNo: granted > 0 ? sliceNo : block?.sliceNo,
      customer,
      ...(granted === 0 && { refusal }),
    })
  }
  /** Reads the use of all nodes, if this node has no block that is valid. */
  const readUse = async ({ key, rate, customer }: RateLimit): Promise<void> => {
    const { slices } = await draw(key, rate, clock.now(), { least: 0, most: 0 })
    const readMs = clock.now()
    const untilMs = readMs + Math.min(READ_MS, rate.windowMs)
    blocks.set(key, { slices, readMs, left: 0, untilMs, size: 0, sliceNo: undefined, customer })
  }
  return (limit: RateLimit, count: number): Promise<void> => {
    const pending = pendingDraws.get(limit.key)
    if (pending) return pending
    const begun = count === 0 ? readUse(limit) : drawBlock(limit, count)
    const drawing = begun.finally(() => pendingDraws.delete(limit.key))
    pendingDraws.set(limit.key, drawing)
    return drawing
  }
}

/** Ends the blocks of customers, or all, and returns what they had left, the largest ones. */
function endBlocks(
  blocks: Blocks,
  now: number,
  customers: ReadonlySet<string> | undefined,
): readonly UnusedRequests[] {
  const unused: UnusedRequests[] = []
  for (const [key, block] of blocks) {
    const { sliceNo, customer } = block
    if (customers && (customer === undefined || !customers.has(customer))) continue
    const count = leftOf(block, now)
    if (count > 0 && sliceNo !== undefined) unused.push({ key, sliceNo, count })
    block.slices = removeUse(block.slices, count)
    block.left = 0
    block.untilMs = 0
  }
  return unused.toSorted((a, b) => b.count - a.count).slice(0, MAX_RETURNED)
}

/** Creates a limiter that shares its counts with other nodes. */
export function createSharedLimiter(
  clock: Clock,
  draw: DrawRequests,
  returnRequests: ReturnRequests = async () => {},
): Limiter {
  const blocks: Blocks = new BoundedMap(MAX_KEYS)
  const drawShared = createBlockDrawer(clock, draw, blocks)
  const isDecisive = ({ key, rate }: RateLimit, now: number, count: number): boolean =>
    determinesVerdict(blocks.get(key), rate, now, count)
  const spend = <L extends RateLimit>(
    charges: readonly Charge<L>[],
    now: number,
    pastCount = 0,
  ): RateLimitVerdict<L> => {
    let verdict: RateLimitVerdict<L> | undefined
    for (const { limit, count } of charges) {
      const block = blocks.get(limit.key)!
      const slices = currentSlices(limit.rate, block.slices, now)
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
    const charges = chargesOf(limits, count, ({ key, rate }) => usedBy(blocks.get(key), rate, now))
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
    async release(customers) {
      const unused = endBlocks(blocks, clock.now(), customers)
      if (unused.length > 0) await returnRequests(unused)
    },
  }
}
