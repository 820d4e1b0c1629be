/**
 * Counts requests against a rate (§11.3). One node counts in memory. Several nodes draw blocks of requests from
 * a count in the database, so that together they stay within the limit and rarely have to ask.
 */
import type { Clock } from '../kernel/clock.ts'
import { atTime, counted, type Rate, type Usage, waitMs } from './window.ts'

export interface Verdict {
  readonly allowed: boolean
  /** Requests left at this moment. */
  readonly remaining: number
  /** Milliseconds until the window ends, or, when refused, until one more fits. */
  readonly resetMs: number
}

/** Counts one request of `key`; a promise only where the database has to be asked. */
export type Limiter = (key: string, rate: Rate) => Verdict | Promise<Verdict>

/** Adds `count` to what all nodes used of `key` in a window; gives the use after it. */
export type Draw = (key: string, rate: Rate, window: number, count: number) => Promise<Usage>

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

function verdict(rate: Rate, usage: Usage, now: number, allowed: boolean): Verdict {
  const remaining = Math.max(0, rate.limit - counted(rate, usage, now))
  const resetMs = allowed ? rate.windowMs - (now % rate.windowMs) : waitMs(rate, usage, now)
  return { allowed, remaining, resetMs }
}

export function localLimiter(clock: Clock): Limiter {
  const known = remembered<Usage>()
  return (key, rate) => {
    const now = clock.now()
    const usage = atTime(rate, known.take(key), now)
    const allowed = counted(rate, usage, now) < rate.limit
    const after = allowed ? { ...usage, used: usage.used + 1 } : usage
    known.put(key, after)
    return verdict(rate, after, now, allowed)
  }
}

interface Block {
  readonly usage: Usage
  /** Requests drawn and not yet used. */
  left: number
}

export function sharedLimiter(clock: Clock, draw: Draw): Limiter {
  const known = remembered<Block>()
  const drawing = new Map<string, Promise<Verdict>>()
  const spend = (key: string, rate: Rate, block: Block, now: number): Verdict => {
    const allowed = block.left > 0
    if (allowed) block.left -= 1
    known.put(key, block)
    // What other blocks hold is counted as used; what is left of ours is not.
    const mine = { ...block.usage, used: block.usage.used - block.left }
    return verdict(rate, mine, now, allowed)
  }
  const refill = async (key: string, rate: Rate): Promise<Verdict> => {
    const now = clock.now()
    const window = Math.floor(now / rate.windowMs)
    const wanted = Math.max(1, Math.ceil(rate.limit / BLOCKS))
    const usage = await draw(key, rate, window, wanted)
    const before = { ...usage, used: usage.used - wanted }
    const room = rate.limit - counted(rate, before, now)
    return spend(key, rate, { usage, left: Math.min(wanted, Math.max(0, room)) }, now)
  }
  const take: Limiter = (key, rate) => {
    const now = clock.now()
    const block = known.take(key)
    const current = block !== undefined && atTime(rate, block.usage, now) === block.usage
    if (current && block.left > 0) return spend(key, rate, block, now)
    // One draw at a time for a key: those who come meanwhile share what it brings.
    const open = drawing.get(key)
    if (open) return open.then(() => take(key, rate))
    const drawn = refill(key, rate).finally(() => drawing.delete(key))
    drawing.set(key, drawn)
    return drawn
  }
  return take
}
