/**
 * Caches database rows for at most one second. A busy caller costs no query per request, and every
 * node applies a change within two seconds (§3.10).
 */
import { BoundedMap } from './bounded-map.ts'
import type { Clock } from './clock.ts'

/** A value older than this is used once more, and looked up in the background. */
const REFRESH_MS = 500
/** A value older than this is not used: the request waits for the lookup. */
const MAX_AGE_MS = 1000
const MAX_ENTRIES = 10_000 // small ones: keys, accounts

export interface LookupCache<K, T> {
  /** Returns a cached value at once. Concurrent calls for one id share a lookup. */
  get(id: K): T | Promise<T | undefined>
  /** Returns the cached value; undefined without one. Starts no lookup. */
  peek(id: K): T | undefined
  /** Removes an entry that has changed; without an id, all entries. */
  evict(id?: K): void
}

interface LookupCacheOptions<K, T> {
  /** Reads a value. `cached` is the previous one, however old. Undefined is not cached. */
  readonly load: (id: K, cached: T | undefined) => Promise<T | undefined>
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** The most values; default: 10,000. Fewer if a caller decides how large one is. */
  readonly maxEntries?: number
  /** Takes over lookups that no request waits for; without it, there are none. */
  readonly runInBackground?: (lookup: Promise<unknown>) => void
}

interface CachedValue<T> {
  readonly value: T
  readonly loadedMs: number
}

export function createLookupCache<K, T>(options: LookupCacheOptions<K, T>): LookupCache<K, T> {
  const { load, clock, maxEntries = MAX_ENTRIES, runInBackground } = options
  const entries = new BoundedMap<K, CachedValue<T>>(maxEntries)
  const lookups = new Map<K, Promise<T | undefined>>()

  const lookUp = async (id: K): Promise<T | undefined> => {
    const loadedMs = clock.elapsedMs()
    const lookup = load(id, entries.get(id)?.value)
    lookups.set(id, lookup)
    const isCurrent = () => lookups.get(id) === lookup
    try {
      const value = await lookup
      // After an eviction, the value is returned to the callers that wait, but not cached.
      if (!isCurrent()) return value
      if (value === undefined) entries.delete(id)
      else entries.set(id, { value, loadedMs })
      return value
    } finally {
      if (isCurrent()) lookups.delete(id)
    }
  }
  const ageMs = (entry: CachedValue<T> | undefined): number =>
    entry ? clock.elapsedMs() - entry.loadedMs : Number.POSITIVE_INFINITY

  return {
    get(id) {
      const entry = entries.get(id)
      const age = ageMs(entry)
      if (age >= MAX_AGE_MS) return lookups.get(id) ?? lookUp(id)
      if (age >= REFRESH_MS && runInBackground && !lookups.has(id)) runInBackground(lookUp(id))
      return entry!.value
    },
    peek(id) {
      const entry = entries.get(id)
      return ageMs(entry) < MAX_AGE_MS ? entry!.value : undefined
    },
    evict(id) {
      for (const map of [entries, lookups]) {
        if (id === undefined) map.clear()
        else map.delete(id)
      }
    },
  }
}
