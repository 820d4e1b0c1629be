/**
 * Counts requests against rates (§11.3). One node counts in memory. Several nodes draw blocks of
 * requests from a count in the database, so that together they stay within the limit and rarely
 * query it.
 */
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Clock } from '../kernel/clock.ts'
import { live, type Rate, type Slice, usedIn, waitMs, withoutUse, withUse } from './window.ts'

/** A rate, and the subject whose requests it counts. */
export interface Limit {
  readonly key: string
  readonly rate: Rate
}

/** What a request met: the exceeded limit, else the one with the fewest requests left. */
export interface Verdict<L extends Limit = Limit> {
  readonly limit: L
  readonly allowed: boolean
  /** Requests left at this moment. */
  readonly remaining: number
  /** Milliseconds until there are more: until the oldest use expires. */
  readonly resetMs: number
}

export interface Limiter {
  /**
   * Counts one request against each of one or more limits, or against none where one of them is
   * exceeded. Returns a promise only where the database has to be queried.
   */
  take<L extends Limit>(limits: readonly L[]): Verdict<L> | Promise<Verdict<L>>
  /** Takes back one request that `take` counted. */
  giveBack(limit: Limit): void
}

/**
 * Takes up to `count` requests of `key` out of what all nodes have left; `slices` are the use of
 * all nodes, after it.
 */
export type Draw = (key: string, rate: Rate, nowMs: number, count: number) => Promise<Drawn>

export interface Drawn {
  readonly granted: number
  readonly slices: readonly Slice[]
}

/** Subjects stored; the longest unseen is evicted first. */
const KEYS_MAX = 100_000
/** A block is a fiftieth of the limit: five nodes that each hold one unused stay within a tenth. */
const BLOCKS = 50
const NO_SLICES: readonly Slice[] = []

/** Of two verdicts the one the caller has to know: a refusal first, else the fewer requests. */
function tighter<L extends Limit>(one: Verdict<L> | undefined, other: Verdict<L>): Verdict<L> {
  if (!one) return other
  if (one.allowed !== other.allowed) return one.allowed ? other : one
  if (!one.allowed) return one.resetMs >= other.resetMs ? one : other
  return one.remaining <= other.remaining ? one : other
}

const verdictOf = <L extends Limit>(
  limit: L,
  slices: readonly Slice[],
  nowMs: number,
  left: number,
): Verdict<L> => ({
  limit,
  allowed: left > 0,
  remaining: Math.max(0, left - 1),
  resetMs:
    left > 0
      ? (slices[0]?.untilMs ?? nowMs + limit.rate.windowMs) - nowMs
      : waitMs(limit.rate, slices, nowMs),
})

export function localLimiter(clock: Clock): Limiter {
  const windows = new BoundedMap<string, readonly Slice[]>(KEYS_MAX)
  const slicesOf = (key: string, now: number) => live(windows.get(key) ?? NO_SLICES, now)
  return {
    take(limits) {
      const now = clock.now()
      let verdict: ReturnType<typeof tighter<(typeof limits)[number]>> | undefined
      for (const limit of limits) {
        const slices = slicesOf(limit.key, now)
        const left = limit.rate.limit - usedIn(slices)
        verdict = tighter(verdict, verdictOf(limit, slices, now, left))
      }
      for (const { key, rate } of limits) {
        const slices = slicesOf(key, now)
        windows.set(key, verdict!.allowed ? withUse(rate, slices, now, 1) : slices)
      }
      return verdict!
    },
    giveBack({ key }) {
      const slices = windows.get(key)
      if (slices) windows.set(key, withoutUse(slices))
    },
  }
}

interface Block {
  /** The use of all nodes when it was drawn; what is left of the block counts as used there. */
  readonly slices: readonly Slice[]
  /** Requests drawn and not yet used. */
  left: number
  /** Until when what is left may be used. */
  readonly untilMs: number
}

export function sharedLimiter(clock: Clock, draw: Draw): Limiter {
  const blocks = new BoundedMap<string, Block>(KEYS_MAX)
  const draws = new Map<string, Promise<void>>()

  /** Whether the block of a limit decides a request without the database. */
  const isDecisive = ({ key, rate }: Limit, now: number): boolean => {
    const block = blocks.get(key)
    if (!block || now >= block.untilMs) return false
    // An empty block decides too, as long as the use of all nodes still counts.
    return block.left > 0 || waitMs(rate, live(block.slices, now), now) > 0
  }
  const refill = async ({ key, rate }: Limit): Promise<void> => {
    const now = clock.now()
    const { granted, slices } = await draw(key, rate, now, Math.ceil(rate.limit / BLOCKS))
    blocks.set(key, { slices, left: granted, untilMs: now + rate.windowMs })
  }
  /** One draw at a time for a key: requests that arrive meanwhile share what it brings. */
  const drawn = (limit: Limit): Promise<void> => {
    const open = draws.get(limit.key)
    if (open) return open
    const drawing = refill(limit).finally(() => draws.delete(limit.key))
    draws.set(limit.key, drawing)
    return drawing
  }
  const spend = <L extends Limit>(limits: readonly L[], now: number): Verdict<L> => {
    let verdict: Verdict<L> | undefined
    for (const limit of limits) {
      const block = blocks.get(limit.key)!
      const slices = live(block.slices, now)
      const left = block.left > 0 ? limit.rate.limit - usedIn(slices) + block.left : 0
      verdict = tighter(verdict, verdictOf(limit, slices, now, left))
    }
    for (const { key } of limits) {
      const block = blocks.get(key)!
      if (verdict!.allowed) block.left -= 1
      blocks.set(key, block)
    }
    return verdict!
  }
  const take = <L extends Limit>(limits: readonly L[]): Verdict<L> | Promise<Verdict<L>> => {
    const now = clock.now()
    const undecided = limits.find((limit) => !isDecisive(limit, now))
    return undecided ? drawn(undecided).then(() => take(limits)) : spend(limits, now)
  }
  return {
    take,
    giveBack({ key }) {
      const block = blocks.get(key)
      if (block) block.left += 1
    },
  }
}
