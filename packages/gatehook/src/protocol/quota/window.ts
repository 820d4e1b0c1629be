/**
 * A sliding window in slices (§11.3). Requests are counted per twentieth of the window. A slice
 * counts until one window after its last request, so no window contains more requests than the
 * limit. (Two counters weighted by time allow twice the limit around a burst.) Under a lower limit
 * a slice counts as the same part of it: requests that a node has reserved under the old limit and
 * not used count as few as those of a reservation under the new one. Of the sum of these parts, the
 * fraction is dropped. Pure.
 */
export interface QuotaRate {
  readonly limit: number
  readonly windowMs: number
}

export interface Slice {
  /** `floor(now / length of a slice)`. */
  readonly no: number
  /** The limit under which its requests were counted. */
  readonly limit: number
  readonly used: number
  /** Epoch milliseconds: one window after its last request. */
  readonly untilMs: number
}

const SLICES_PER_WINDOW = 20

export const sliceNumber = (rate: QuotaRate, nowMs: number): number =>
  Math.floor((nowMs * SLICES_PER_WINDOW) / rate.windowMs)

/** Returns the slices that have not expired, oldest first. */
export const currentSlices = (slices: readonly Slice[], nowMs: number): readonly Slice[] =>
  slices.length > 0 && slices[0]!.untilMs <= nowMs
    ? slices.filter((slice) => slice.untilMs > nowMs)
    : slices

/** Returns what a slice counts under a limit, with a fraction. */
const weigh = ({ limit }: QuotaRate, slice: Slice): number =>
  slice.limit > limit ? (slice.used * limit) / slice.limit : slice.used

const sumWeights = (rate: QuotaRate, slices: readonly Slice[]): number =>
  slices.reduce((sum, slice) => sum + weigh(rate, slice), 0)

/** Drops the fraction of a sum; one that misses an integer by the error of doubles is that. */
const toRequests = (weight: number): number => Math.floor(weight + 1e-6)

export const sumUsed = (rate: QuotaRate, slices: readonly Slice[]): number =>
  toRequests(sumWeights(rate, slices))

/** Returns the slices with `count` more requests at `nowMs`. */
export function addUse(
  rate: QuotaRate,
  slices: readonly Slice[],
  nowMs: number,
  count: number,
): readonly Slice[] {
  const no = sliceNumber(rate, nowMs)
  const { limit, windowMs } = rate
  const isSame = (slice: Slice) => slice.no === no && slice.limit === limit
  const used = count + (slices.find(isSame)?.used ?? 0)
  return [
    ...slices.filter((slice) => !isSame(slice)),
    { no, limit, used, untilMs: nowMs + windowMs },
  ]
}

/** Returns the slices without the latest request. */
export function removeUse(slices: readonly Slice[]): readonly Slice[] {
  const last = slices.at(-1)
  if (!last) return slices
  return last.used > 1
    ? [...slices.slice(0, -1), { ...last, used: last.used - 1 }]
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
  let weight = sumWeights(rate, slices)
  for (const slice of slices) {
    if (toRequests(weight) <= most) break
    weight -= weigh(rate, slice)
    if (toRequests(weight) <= most) return slice.untilMs - nowMs
  }
  return 0
}
