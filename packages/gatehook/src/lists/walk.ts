/**
 * Reads one page: which rows, and which pages lie before and behind. SQL by `plan.ts`; the wire
 * form is made in `list.ts`.
 */
import { Failure } from '../kernel/failure.ts'
import type { Reader, Value } from '../storage/database.ts'
import type { Collection } from './collection.ts'
import { total } from './counters.ts'
import type { Cursor, CursorStep, Key } from './cursor.ts'
import type { ListRequest } from './grammar.ts'
import { countStatement, pageStatement, type Walk } from './plan.ts'

export type Rows = readonly (readonly Value[])[]

/** Whose rows: the scope, and the person where a person asks (§6.7). */
export interface Reach {
  readonly scope: number
  readonly owner: number | undefined
}

export interface CursorPage {
  readonly rows: Rows
  readonly next: Cursor | null
  readonly prev: Cursor | null
}

export interface NumberedPage {
  readonly rows: Rows
  readonly total: number
}

/** How far a page may lie from the nearer end before it is refused (§7.4). */
export const MAX_WALK_ROWS = 100_000

const start = (collection: Collection, reach: Reach, request: ListRequest): Walk => ({
  collection,
  scope: reach.scope,
  owner: reach.owner,
  filters: request.filters,
  sort: request.sort,
  backward: false,
  anchor: undefined,
  inclusive: false,
  limit: request.limit,
  skip: 0,
})

/** Whether a cursor leads towards the beginning. */
export const isBackward = (cursor: Cursor | undefined): boolean =>
  cursor?.step === 'before' || cursor?.step === 'upto'

/** One row more than the page is read, to know whether there is a next one. */
export async function cursorPage(
  reader: Reader,
  collection: Collection,
  reach: Reach,
  request: ListRequest,
  cursor: Cursor | undefined,
): Promise<CursorPage> {
  const walk: Walk = {
    ...start(collection, reach, request),
    backward: isBackward(cursor),
    anchor: cursor?.keys,
    inclusive: cursor?.step === 'from' || cursor?.step === 'upto',
    limit: request.limit + 1,
  }
  const found = await reader.arrays(pageStatement(walk))
  const more = found.length > request.limit
  const rows = more ? found.slice(0, request.limit) : found
  const keys = keysOf(collection, request)
  if (!walk.backward) {
    const next = more ? ({ step: 'after', keys: keys(rows.at(-1)!) } as const) : null
    return { rows, next, prev: cursor ? beside(rows[0], 'before', 'upto') : null }
  }
  rows.reverse()
  const next = beside(rows.at(-1), 'after', 'from')
  // Rows behind may have gone since: has_more promises that the next page has some.
  const inclusive = next.step === 'from'
  const behind = { ...walk, backward: false, anchor: next.keys, inclusive, limit: 1 }
  const [anyBehind] = await reader.arrays(pageStatement(behind))
  return {
    rows,
    next: anyBehind ? next : null,
    prev: more ? { step: 'before', keys: keys(rows[0]!) } : null,
  }

  /** From the row at the page's edge; a page emptied since leads back to where it lay (§7.6). */
  function beside(
    edge: readonly Value[] | undefined,
    from: CursorStep,
    emptied: CursorStep,
  ): Cursor {
    return edge ? { step: from, keys: keys(edge) } : { step: emptied, keys: cursor!.keys }
  }
}

function keysOf(collection: Collection, request: ListRequest) {
  const at = request.sort.map((key) =>
    collection.columns.findIndex((column) => column.name === key.column),
  )
  return (row: readonly Value[]): Key[] => at.map((index) => row[index] as Key)
}

/** Keyset style: ids above `after_id`, ascending. */
export async function keysetPage(
  reader: Reader,
  collection: Collection,
  reach: Reach,
  request: ListRequest,
): Promise<{ rows: Rows; more: boolean }> {
  const walk: Walk = {
    ...start(collection, reach, request),
    anchor: request.afterId === undefined ? undefined : [request.afterId],
    limit: request.limit + 1,
  }
  const found = await reader.arrays(pageStatement(walk))
  const more = found.length > request.limit
  return { rows: more ? found.slice(0, request.limit) : found, more }
}

/** A page by number, with the total of the same snapshot; walked from the nearer end. */
export async function numberedPage(
  reader: Reader,
  collection: Collection,
  reach: Reach,
  request: ListRequest,
): Promise<NumberedPage> {
  const walk = start(collection, reach, request)
  const kept = collection.counted && reach.owner === undefined && request.filters.length === 0
  const all = kept
    ? await total(reader, reach.scope, collection.name)
    : Number((await reader.get<{ n: number }>(countStatement(walk)))!.n)
  if (request.offset >= all) return { rows: [], total: all }
  const length = Math.min(request.limit, all - request.offset)
  const fromEnd = all - request.offset - length
  if (Math.min(request.offset, fromEnd) > MAX_WALK_ROWS) throw tooDeep(request)
  if (request.offset <= fromEnd) {
    const page = { ...walk, limit: length, skip: request.offset }
    return { rows: await reader.arrays(pageStatement(page)), total: all }
  }
  const page = { ...walk, backward: true, limit: length, skip: fromEnd }
  const rows = await reader.arrays(pageStatement(page))
  return { rows: rows.reverse(), total: all }
}

function tooDeep(request: ListRequest): Failure {
  const parameter = request.style === 'offset' ? 'offset' : 'page'
  const message =
    `The page lies more than ${MAX_WALK_ROWS} rows from both ends. ` +
    'Use the cursor style (pagination=cursor), where every page costs the same.'
  return new Failure('offset_too_large', message, {
    errors: [{ parameter, code: 'offset_too_large', message }],
  })
}
