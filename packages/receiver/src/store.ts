/** What a receiver remembers: ids it has handled, and how new each object was. */

/**
 * Give your own, over your database, where several processes receive or a restart must not forget.
 * One table with a key and one with a number are enough.
 */
export interface EventStore {
  /** Whether this event was handled already. */
  has(eventId: string): Promise<boolean>
  /** The largest `created` handled for an object, in seconds; undefined when it was never seen. */
  newest(object: string): Promise<number | undefined>
  /**
   * The event was handled: called once, after `onEvent` has succeeded. `of` names its object, where
   * it has one; keep the largest `created`.
   */
  add(eventId: string, of?: { readonly object: string; readonly created: number }): Promise<void>
}

/** How many ids, and how many objects, memory keeps by default. */
const DEFAULT_MAX_ENTRIES = 10_000

/**
 * Remembers in this process, the last `maxEntries` of ids and of objects (default 10,000 of each).
 */
export function memoryStore(maxEntries: number = DEFAULT_MAX_ENTRIES): EventStore {
  const handled = new Map<string, true>()
  const newest = new Map<string, number>()
  const put = <V>(map: Map<string, V>, key: string, value: V) => {
    map.delete(key) // to the young end
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
