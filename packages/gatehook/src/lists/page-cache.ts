/**
 * Pages that are asked for again while nothing is written (§7): kept as they were answered, under
 * the stamp of the database. Any commit empties the cache; so it never has to know what a page
 * depends on.
 */
import type { Answer } from '../http/call.ts'
import { entityTag } from '../http/conditional.ts'
import type { Database } from '../storage/database.ts'
import type { View } from './collection.ts'
import type { Reach } from './walk.ts'

const MAX_PAGES = 512
/** Larger pages are rare, and cost more to keep than to make. */
const MAX_LENGTH = 32_768

/** Gives the page kept, or makes it. `asked`: path and query of the call, as one text. */
export type PageCache = (
  asked: string,
  view: View,
  reach: Reach,
  make: () => Promise<Answer>,
) => Answer | Promise<Answer>

export function createPageCache(db: Pick<Database, 'stamp'>): PageCache {
  let stamp: number | undefined
  let count = 0
  // By view, for one collection is shown differently by version; views of one call are not kept.
  let pages = new WeakMap<View, Map<string, Answer>>()

  const keep = (view: View, name: string, answer: Answer): Answer => {
    const json = answer.json!
    const kept = { ...answer, headers: { ...answer.headers, etag: entityTag(json) } }
    if (count >= MAX_PAGES || json.length > MAX_LENGTH) return kept
    const known = pages.get(view)
    if (known) known.set(name, kept)
    else pages.set(view, new Map([[name, kept]]))
    count += 1
    return kept
  }

  return (asked, view, { scope, owner }, make) => {
    const now = db.stamp()
    if (now === undefined) return make()
    if (now !== stamp) {
      pages = new WeakMap()
      stamp = now
      count = 0
    }
    const name = `${scope} ${owner ?? ''} ${asked}`
    const kept = pages.get(view)?.get(name)
    // The way out changes answers in place.
    if (kept) return { ...kept }
    return make().then((answer) => (stamp === now ? { ...keep(view, name, answer) } : answer))
  }
}
