/**
 * Counts requests against a rate (§11.3). One node counts in memory. Several nodes draw blocks of
 * requests from a count in the database, so that together they stay within the limit and rarely
 * have to ask.
 */
import type { Clock } from '../kernel/clock.ts'
import { live, type Rate, type Slice, usedIn, waitMs, withUse } from './window.ts'

export interface Verdict {
  readonly allowed: boolean
  /** Requests left at this moment. */
  readonly remaining: number
  /** Milliseconds until there are more: until the oldest use counts no more. */
  readonly resetMs: number
}

/** Counts one request of `key`; a promise only where the database has to be asked. */
export type Limiter = (key: string, rate: Rate) => Verdict | Promise<Verdict>

/**
 * Takes up to `count` requests of `key` out of what all nodes have left; `slices` are
 * everybody's, after it.
 */
export type Draw = (key: string, rate: Rate, nowMs: number, count: number) => Promise<Drawn>

export interface Drawn {
  readonly granted: number
  readonly slices: readonly Slice[]
}

/** Callers remembered; the longest unseen is forgotten first. */
const KEYS_MAX = 100_000
/** A block is a fiftieth of the limit: five nodes that each hold one unused stay within a tenth. */
const BLOCKS = 50

/** A map that forgets the longest unseen key. */
function remembered<T>() {
  const all = new Map<string, T>()
  return {
    take(key: string): T | undefined {
      const value = all.get(key)
      if (value !== undefined) all.delete(key)
      return value
    },
    put(key: string, value: T): void {
      all.set(key, value)
      if (all.size > KEYS_MAX) all.delete(all.keys().next().value!)
    },
  }
}

const verdict = (
  rate: Rate,
  slices: readonly Slice[],
  nowMs: number,
  allowed: boolean,
  remaining: number,
): Verdict => {
  const oldest = slices[0]?.untilMs ?? nowMs + rate.windowMs
  return {
    allowed,
    remaining: Math.max(0, remaining),
    resetMs: allowed ? oldest - nowMs : waitMs(rate, slices, nowMs),
  }
}

export function localLimiter(clock: Clock): Limiter {
  const known = remembered<readonly Slice[]>()
  return (key, rate) => {
    const now = clock.now()
    const before = live(known.take(key) ?? [], now)
    const used = usedIn(before)
    const allowed = used < rate.limit
    const slices = allowed ? withUse(rate, before, now, 1) : before
    known.put(key, slices)
    return verdict(rate, slices, now, allowed, rate.limit - used - 1)
  }
}

interface Block {
  /** Everybody's use when it was drawn; what is left of the block counts as used there. */
  readonly slices: readonly Slice[]
  /** Requests drawn and not yet used. */
  left: number
  /** Until when what is left may be used. */
  readonly untilMs: number
}

export function sharedLimiter(clock: Clock, draw: Draw): Limiter {
  const known = remembered<Block>()
  const drawing = new Map<string, Promise<Verdict>>()
  const spend = (key: string, rate: Rate, block: Block, now: number): Verdict => {
    const allowed = block.left > 0
    if (allowed) block.left -= 1
    known.put(key, block)
    const slices = live(block.slices, now)
    const remaining = rate.limit - usedIn(slices) + block.left
    return verdict(rate, slices, now, allowed, allowed ? remaining : 0)
  }
  const refill = async (key: string, rate: Rate): Promise<Verdict> => {
    const now = clock.now()
    const { granted, slices } = await draw(key, rate, now, Math.ceil(rate.limit / BLOCKS))
    return spend(key, rate, { slices, left: granted, untilMs: now + rate.windowMs }, now)
  }
  const take: Limiter = (key, rate) => {
    const now = clock.now()
    const block = known.take(key)
    // Nothing left is an answer too, as long as all that everybody used still counts.
    const settled = block && (block.left > 0 || waitMs(rate, live(block.slices, now), now) > 0)
    if (settled && now < block.untilMs) return spend(key, rate, block, now)
    // One draw at a time for a key: those who come meanwhile share what it brings.
    const open = drawing.get(key)
    if (open) return open.then(() => take(key, rate))
    const drawn = refill(key, rate).finally(() => drawing.delete(key))
    drawing.set(key, drawn)
    return drawn
  }
  return take
}
