/**
 * Positions of logged requests: integers that sort by time and are unique across nodes. A position
 * is `milliseconds × 2048 + node slot × 64 + number`. Pure.
 */

/** Fits into 53 bits until the year 2109. */
const PER_MS = 2048
const PER_NODE = 64
/** Nodes with positions of their own; further nodes share a slot. */
export const NODE_SLOTS = PER_MS / PER_NODE

/** Returns the lowest position at an instant. */
export const positionAt = (epochMs: number): number => Math.floor(epochMs) * PER_MS

/** Returns the instant of a position, in epoch milliseconds. */
export const instantOf = (position: number): number => Math.floor(position / PER_MS)

/**
 * Returns a generator of positions that never repeats and never decreases. After 64 requests in one
 * millisecond, further ones get the next.
 */
export function createPositions(slot: () => number): (epochMs: number) => number {
  let lastMs = 0
  let count = 0
  return (epochMs) => {
    if (epochMs > lastMs) {
      lastMs = Math.floor(epochMs)
      count = 0
    } else if (++count === PER_NODE) {
      lastMs++
      count = 0
    }
    return positionAt(lastMs) + (slot() % NODE_SLOTS) * PER_NODE + count
  }
}
