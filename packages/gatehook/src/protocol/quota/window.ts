/**
 * A sliding window in slices (§11.3). Requests are counted per twentieth of the window. A slice
 * counts until one window after its last request, so no window contains more requests than the
 * limit. (Two counters weighted by time allow twice the limit around a burst.) Pure.
 */
import { CLOCK_REFUSE_MS } from '../../platform/nodes/server-clock.ts'

export interface QuotaRate {
  readonly limit: number
  readonly windowMs: number
}

export interface Slice {
  /** `floor(now / length of a slice)`. */
  readonly no: number
  readonly used: number
  /** Epoch milliseconds of its last request. */
  readonly lastMs: number
}

const SLICES_PER_WINDOW = 20

export const sliceNumber = (rate: QuotaRate, nowMs: number): number =>
  Math.floor((nowMs * SLICES_PER_WINDOW) / rate.windowMs)

/** Returns the milliseconds until a slice expires under a rate, also one that has changed. */
export const expiryMs = (
  { windowMs }: QuotaRate,
  { lastMs }: Pick<Slice, 'lastMs'>,
  nowMs: number,
): number => lastMs + windowMs - nowMs

/** Returns the latest time of another node. Uses after it are of a clock that was set back. */
export const latestMs = (nowMs: number): number => nowMs + CLOCK_REFUSE_MS

const isFuture = ({ lastMs }: Slice, nowMs: number): boolean => lastMs > latestMs(nowMs)

/**
 * Returns the slices that have not expired, oldest first. Those of the future count no more, so
 * that a clock that is set back rejects no caller for long.
 */
export function currentSlices(
  rate: QuotaRate,
  slices: readonly Slice[],
  nowMs: number,
): readonly Slice[] {
  const isCurrent = (slice: Slice) => expiryMs(rate, slice, nowMs) > 0 && !isFuture(slice, nowMs)
  // The first slice is the oldest one, and the last one the newest.
  const areCurrent = slices.length === 0 || (isCurrent(slices[0]!) && isCurrent(slices.at(-1)!))
  return areCurrent ? slices : slices.filter(isCurrent)
}

export const sumUsed = (slices: readonly Slice[]): number =>
  slices.reduce((sum, slice) => sum + slice.used, 0)

/** Returns the slices with `count` more requests at `nowMs`. */
export function addUse(
  rate: QuotaRate,
  slices: readonly Slice[],
  nowMs: number,
  count: number,
): readonly Slice[] {
  const no = sliceNumber(rate, nowMs)
  const last = slices.at(-1)
  if (last?.no !== no) return [...slices, { no, used: count, lastMs: nowMs }]
  return [...slices.slice(0, -1), { no, used: last.used + count, lastMs: nowMs }]
}

/** Returns the slices without `count` requests of the latest slice. */
export function removeUse(slices: readonly Slice[], count: number): readonly Slice[] {
  const last = slices.at(-1)
  if (!last) return slices
  return last.used > count
    ? [...slices.slice(0, -1), { ...last, used: last.used - count }]
    : slices.slice(0, -1)
}

/** Returns the milliseconds until `count` requests are within the limit; 0 if they are now. */
export function waitMs(
  rate: QuotaRate,
  slices: readonly Slice[],
  nowMs: number,
  count = 1,
): number {
  const most = rate.limit - count
  let used = sumUsed(slices)
  for (const slice of slices) {
    if (used <= most) break
    used -= slice.used
    if (used <= most) return expiryMs(rate, slice, nowMs)
  }
  return 0
}
