/** Bounds the requests that wait for something at a time: in all, and those of each group. */

export interface PlaceLimits {
  readonly total: number
  readonly ofGroup: number
}

/** Takes a place, and returns the function that leaves it; undefined if none is free. */
export type TakePlace = (group: string) => (() => void) | undefined

export function createPlaces({ total: max, ofGroup }: PlaceLimits): TakePlace {
  const byGroup = new Map<string, number>()
  let total = 0
  return (group) => {
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
