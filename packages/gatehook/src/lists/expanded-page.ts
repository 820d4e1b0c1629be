/**
 * Adds the rows to which the rows of a page refer (§7.11). `resources/expansion.ts` reads them.
 */
import { ITEMS_BYTES_MAX, sizeOf } from '../http/answer-budget.ts'
import { overloadFailure } from '../http/egress.ts'
import type { Reader, Value } from '../storage/database.ts'
import { createPageTooLarge } from './bounds-failures.ts'
import type { View } from './collection.ts'
import type { ListRequest } from './grammar.ts'

export const EXPAND = 'expand'

export interface PageExpansion {
  /** Distinguishes callers that read different rows of the same relations. */
  readonly key: string
  /** The fields whose member has the row instead of its id. */
  readonly omits: readonly string[]
  /** Whether the rows can exceed the size limit of a response (§11.5). */
  readonly isWide: boolean
  /** Returns the JSON members to add to each row. */
  read(reader: Reader, rows: readonly (readonly Value[])[]): Promise<readonly string[]>
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
  readonly reader: Reader
  readonly expansion: PageExpansion
  readonly request: ListRequest
  /** Largest size of the response; undefined if rows are small. */
  readonly mostBytes: number | undefined
}

/**
 * Returns the items of a page with their expanded members. Throws `page_too_large` beyond the size
 * of a page, and `overloaded` beyond the bytes that the caller can receive now.
 */
export async function expandItems(
  { reader, expansion, request, mostBytes = ITEMS_BYTES_MAX }: ExpandTask,
  rows: readonly (readonly Value[])[],
  items: readonly string[],
): Promise<string[]> {
  const members = await expansion.read(reader, rows)
  const expandedItems = items.map((item, at) => withMembers(item, members[at]!))
  let bytes = 0
  for (const [at, item] of expandedItems.entries()) {
    bytes += sizeOf(item)
    if (bytes > ITEMS_BYTES_MAX) {
      throw createPageTooLarge(request, Math.max(1, at), { expand: true })
    }
    if (bytes > mostBytes) throw overloadFailure()
  }
  return expandedItems
}
