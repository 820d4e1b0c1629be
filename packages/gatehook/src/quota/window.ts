/**
 * A sliding window in slices (§11.3): requests are counted per twentieth of the window, and a
 * slice counts until the window has passed since its last request. So no window ever holds more
 * than the limit, a burst is forgiven exactly one window later, and only a steady flow waits
 * longer, by a slice at most. (Two counters weighted by time let twice the limit through around a
 * burst.) Pure.
 */
export interface Rate {
  readonly limit: number
  readonly windowMs: number
}

export interface Slice {
  /** Number of the slice: `floor(now / sliceMs)`. */
  readonly no: number
  readonly used: number
  /** When it counts no more: one window after its last request. */
  readonly untilMs: number
}

const SLICES = 20

export const sliceOf = (rate: Rate, nowMs: number): number =>
  Math.floor((nowMs * SLICES) / rate.windowMs)

/** Slices that count at this moment, oldest first. */
export const live = (slices: readonly Slice[], nowMs: number): readonly Slice[] =>
  slices.length > 0 && slices[0]!.untilMs <= nowMs
    ? slices.filter((slice) => slice.untilMs > nowMs)
    : slices

export const usedIn = (slices: readonly Slice[]): number =>
  slices.reduce((sum, slice) => sum + slice.used, 0)

/** The slices with `count` more requests, made now. */
export function withUse(
  rate: Rate,
  slices: readonly Slice[],
  nowMs: number,
  count: number,
): readonly Slice[] {
  const no = sliceOf(rate, nowMs)
  const last = slices.at(-1)
  const untilMs = nowMs + rate.windowMs
  if (last?.no !== no) return [...slices, { no, used: count, untilMs }]
  return [...slices.slice(0, -1), { no, used: last.used + count, untilMs }]
}

/** The slices with the latest request taken back. */
export function withoutUse(slices: readonly Slice[]): readonly Slice[] {
  const last = slices.at(-1)
  if (!last) return slices
  return last.used > 1
    ? [...slices.slice(0, -1), { ...last, used: last.used - 1 }]
    : slices.slice(0, -1)
}

/** Milliseconds until one more request fits; 0 where one fits now. */
export function waitMs(rate: Rate, slices: readonly Slice[], nowMs: number): number {
  let left = usedIn(slices)
  for (const slice of slices) {
    if (left < rate.limit) break
    left -= slice.used
    if (left < rate.limit) return slice.untilMs - nowMs
  }
  return 0
}
