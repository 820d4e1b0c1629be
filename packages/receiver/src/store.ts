/**
 * Stores the ids of handled events, and the newest event of each object. Provide your own over a
 * database if several processes receive, or if a restart must not lose the ids. Two tables are
 * enough.
 */
export interface EventStore {
  /** Returns whether this event was handled. */
  has(eventId: string): Promise<boolean>
  /** Returns the largest `created` of an object's handled events, in seconds, if any. */
  newest(object: string): Promise<number | undefined>
  /**
   * Stores a handled event; called once, after `onEvent` has succeeded. `of` is its object, if any:
   * store the largest `created`.
   */
  add(eventId: string, of?: { readonly object: string; readonly created: number }): Promise<void>
}

const DEFAULT_MAX_ENTRIES = 10_000

/** Returns a store in memory for the latest `maxEntries` ids and objects (default: 10,000 each). */
export function memoryStore(maxEntries: number = DEFAULT_MAX_ENTRIES): EventStore {
  const handled = new Map<string, true>()
  const newest = new Map<string, number>()
  const put = <V>(map: Map<string, V>, key: string, value: V) => {
    map.delete(key) // makes the entry the newest
    map.set(key, value)
    if (map.size > maxEntries) map.delete(map.keys().next().value!)
  }
  return {
    has: async (eventId) => handled.has(eventId),
    newest: async (object) => newest.get(object),
    add: async (eventId, of) => {
      put(handled, eventId, true)
      if (of) put(newest, of.object, Math.max(of.created, newest.get(of.object) ?? of.created))
    },
  }
}
