/**
 * A sliding window as two counters (§11.3): what was used in this window, and the last one's use, weighted by how
 * much of it the sliding window still covers. Pure.
 */
export interface Rate {
  readonly limit: number
  readonly windowMs: number
}

export interface Usage {
  /** Number of the window: `floor(now / windowMs)`. */
  readonly window: number
  readonly used: number
  readonly usedBefore: number
}

export const windowOf = (rate: Rate, nowMs: number): number => Math.floor(nowMs / rate.windowMs)

/** Usage carried over to the window `nowMs` lies in. */
export function atTime(rate: Rate, usage: Usage | undefined, nowMs: number): Usage {
  const window = windowOf(rate, nowMs)
  if (usage?.window === window) return usage
  return { window, used: 0, usedBefore: usage?.window === window - 1 ? usage.used : 0 }
}

/** Requests that count at this moment, rounded up. */
export function counted(rate: Rate, usage: Usage, nowMs: number): number {
  const past = (nowMs % rate.windowMs) / rate.windowMs
  return usage.used + Math.ceil(usage.usedBefore * (1 - past))
}

/** Milliseconds until one more request fits, if none comes before. */
export function waitMs(rate: Rate, usage: Usage, nowMs: number): number {
  const { limit, windowMs } = rate
  const inWindow = nowMs % windowMs
  if (usage.used < limit) {
    // The last window's weight has to fall to what leaves room for one.
    const past = 1 - (limit - 1 - usage.used) / Math.max(1, usage.usedBefore)
    return Math.max(1, Math.ceil(past * windowMs - inWindow))
  }
  const past = Math.max(0, 1 - (limit - 1) / usage.used)
  return Math.ceil(windowMs - inWindow + past * windowMs)
}
