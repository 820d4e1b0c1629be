/** Bounds the requests that wait for something at a time: in all, and those of each group. */

interface PlaceLimits {
  readonly total: number
  readonly ofGroup: number
}

/** Returns the function that takes a place; it returns the one that leaves, or undefined. */
export function createPlaces({ total: max, ofGroup }: PlaceLimits) {
  const byGroup = new Map<string, number>()
  let total = 0
  return (group: string): (() => void) | undefined => {
    const count = byGroup.get(group) ?? 0
    // A group has at most as many as are free: several groups of one customer leave some.
    if (count >= Math.min(ofGroup, max - total)) return undefined
    total++
    byGroup.set(group, count + 1)
    return () => {
      total--
      const left = byGroup.get(group)! - 1
      if (left === 0) byGroup.delete(group)
      else byGroup.set(group, left)
    }
  }
}
