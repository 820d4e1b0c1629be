/**
 * Caches pages until the next commit, under the stamp of the database (§7). Any commit empties the
 * cache, so it needs no record of the rows that a page depends on.
 */

import type { Database } from '../../platform/storage/database.ts'
import type { Answer } from '../http/call.ts'
import { entityTag } from '../http/conditional.ts'
import type { View } from './collection.ts'
import type { RowScope } from './page.ts'

const PAGES_MAX = 512
/** Larger pages are rare, and take more memory than a second read is worth. */
const PAGE_CHARACTERS_MAX = 32_768

/** Returns the cached page, or reads it. `request`: path and query as one text. */
export type PageCache = (
  request: string,
  view: View,
  rowScope: RowScope,
  readPage: () => Promise<Answer>,
) => Answer | Promise<Answer>

export function createPageCache(db: Pick<Database, 'stamp'>): PageCache {
  let stamp: number | undefined
  let count = 0
  // By view, because each version renders rows differently. A WeakMap drops the views of one call.
  let pages = new WeakMap<View, Map<string, Answer>>()

  const addPage = (view: View, key: string, answer: Answer): Answer => {
    const json = answer.json!
    const page = { ...answer, headers: { ...answer.headers, etag: entityTag(json) } }
    if (count >= PAGES_MAX || json.length > PAGE_CHARACTERS_MAX) return page
    const pagesOfView = pages.get(view)
    if (pagesOfView) pagesOfView.set(key, page)
    else pages.set(view, new Map([[key, page]]))
    count += 1
    return page
  }

  return (request, view, { scope, owner }, readPage) => {
    const now = db.stamp()
    if (now === undefined) return readPage()
    if (now !== stamp) {
      pages = new WeakMap()
      stamp = now
      count = 0
    }
    const key = `${scope} ${owner ?? ''} ${request}`
    const cachedPage = pages.get(view)?.get(key)
    // Later steps of the pipeline change the answer in place, so it is copied.
    if (cachedPage) return { ...cachedPage }
    return readPage().then((answer) => (stamp === now ? { ...addPage(view, key, answer) } : answer))
  }
}
