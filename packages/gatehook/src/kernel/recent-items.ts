/** The newest items of a stream, up to a number and an age. */
import type { Clock } from './clock.ts'

export interface RecentItems<T> {
  add(item: T): void
  /** Removes and returns the items, the oldest first. */
  take(): T[]
}

export interface RecentItemsOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly max: number
  readonly maxAgeMs: number
}

export function createRecentItems<T>({ clock, max, maxAgeMs }: RecentItemsOptions): RecentItems<T> {
  let items: { readonly item: T; readonly atMs: number }[] = []
  /** The index of the oldest item, once there are `max`. */
  let start = 0
  return {
    add(item) {
      const entry = { item, atMs: clock.elapsedMs() }
      if (items.length < max) return void items.push(entry)
      items[start] = entry
      start = (start + 1) % max
    },
    take() {
      const since = clock.elapsedMs() - maxAgeMs
      const all = [...items.slice(start), ...items.slice(0, start)]
      items = []
      start = 0
      return all.filter(({ atMs }) => atMs >= since).map(({ item }) => item)
    },
  }
}
