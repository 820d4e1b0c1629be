/**
 * Adds the rows to which the rows of a page refer (§7.11). `declare/resources/expansion.ts` reads
 * them.
 */

import { setImmediate as nextTick } from 'node:timers/promises'
import type { Reader, Value } from '../../platform/storage/database.ts'
import { ITEMS_BYTES_MAX, sizeOf } from '../http/answer-budget.ts'
import type { ResponseWork } from '../http/call.ts'
import { overloadFailure } from '../http/egress.ts'
import { createPageTooLarge } from './bounds-failures.ts'
import type { View } from './collection.ts'
import type { ListRequest } from './grammar.ts'
import { nextRows } from './wide-rows.ts'

export const EXPAND = 'expand'

export interface PageExpansion {
  /** Distinguishes callers that read different rows of the same relations. */
  readonly key: string
  /** The fields whose member has the row instead of its id. */
  readonly omits: readonly string[]
  /** The bytes of the largest members of a row; 0: small, so that one read has all rows. */
  readonly maxRowBytes: number
  /** Whether the members of one row can be a large response. */
  readonly isWide: boolean
  /**
   * Returns the JSON members to add to each row; undefined if their size is above `most`.
   * `fields`: those that the request selects.
   */
  read(
    reader: Reader,
    rows: readonly (readonly Value[])[],
    most: number,
    fields?: ReadonlySet<string>,
  ): Promise<readonly string[] | undefined>
}

/** Returns the JSON text of an object with further members. */
export function withMembers(text: string, members: string): string {
  if (members === '') return text
  return text === '{}' ? `{${members}}` : `${text.slice(0, -1)},${members}}`
}

/** Returns the fields to select in a view so that expanded members replace ids. */
export function fieldsWithout(
  view: View,
  omits: readonly string[],
  fields?: ReadonlySet<string>,
): ReadonlySet<string> | undefined {
  if (omits.length === 0) return fields
  return new Set(view.fields.filter((name) => !omits.includes(name) && fields?.has(name) !== false))
}

interface ExpandTask {
  readonly db: Reader
  readonly expansion?: PageExpansion | undefined
  readonly request: ListRequest
  readonly work?: ResponseWork | undefined
}

/** Rows in the order in which a walk read them. */
interface ReadPage {
  readonly rows: readonly (readonly Value[])[]
  readonly items: readonly string[]
  readonly more: boolean
  readonly isCut: boolean
}

/**
 * Adds the expanded members of the request to the items of a page, some rows at a time. The page
 * ends before the row that does not fit, and nothing is read after it. Throws `page_too_large` if
 * not even one row fits, and `overloaded` beyond the bytes that the caller can receive now.
 */
export async function expandPage<P extends ReadPage>(task: ExpandTask, page: P): Promise<P> {
  const { db, expansion, request, work } = task
  if (!expansion) return page
  const { maxRowBytes } = expansion
  const items: string[] = []
  const { mostBytes = ITEMS_BYTES_MAX } = work ?? {}
  let bytes = 0
  let rowsMax = Number.POSITIVE_INFINITY
  const cut = (): P => {
    if (items.length === 0) throw createPageTooLarge(request, 1, { expand: true })
    return { ...page, rows: page.rows.slice(0, items.length), items, more: true, isCut: true }
  }
  while (items.length < page.rows.length) {
    const from = items.length
    if (from > 0) await nextTick() // other requests run between two reads
    const free = ITEMS_BYTES_MAX - bytes
    const fitting =
      maxRowBytes === 0 ? page.rows.length : nextRows({ maxRowBytes, rows: from, bytes, free })
    const count = Math.min(rowsMax, fitting)
    const rows = page.rows.slice(from, from + count)
    const members = await expansion.read(db, rows, free, request.fields)
    if (!members && count === 1) return cut()
    rowsMax = members ? rowsMax : 1
    for (const [at, text] of (members ?? []).entries()) {
      const item = withMembers(page.items[from + at]!, text)
      const itemBytes = sizeOf(item)
      bytes += itemBytes
      const pause = work?.count(itemBytes)
      if (pause) await pause
      if (bytes > ITEMS_BYTES_MAX) return cut()
      if (bytes > mostBytes) throw overloadFailure()
      items.push(item)
    }
  }
  return { ...page, items }
}
