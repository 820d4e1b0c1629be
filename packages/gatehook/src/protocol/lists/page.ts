/**
 * Reads the rows of one page and the positions of its neighbours. `page-plan.ts` plans the page;
 * `page-query.ts` has the SQL of lists that one index serves, `examined-rows.ts` of the others.
 * `list.ts` renders the page.
 */

import { setImmediate as nextTick } from 'node:timers/promises'
import { Failure } from '../../kernel/failure.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { Database, Reader, Value } from '../../platform/storage/database.ts'
import { runTogether } from '../../platform/storage/together.ts'
import { ITEMS_BYTES_MAX, sizeOf } from '../http/answer-budget.ts'
import type { ResponseWork } from '../http/call.ts'
import { overloadFailure } from '../http/egress.ts'
import { type Anchors, createAnchors } from './anchors.ts'
import {
  BoundsExceeded,
  CONCURRENT_BOUNDS,
  LONG_READ_BOUNDS,
  MAX_SKIPPED_ROWS,
  type ReadBounds,
  TEXT_BOUNDS,
} from './bounds.ts'
import { createPageTooLarge, createTooDeep, createTooExpensive } from './bounds-failures.ts'
import type { Collection } from './collection.ts'
import { countRows } from './counted-reader.ts'
import { readTotal } from './counters.ts'
import type { Cursor, CursorStep, Key } from './cursor.ts'
import { expandPage, type PageExpansion } from './expanded-page.ts'
import { readsWholeText } from './filter.ts'
import type { ListRequest } from './grammar.ts'
import { countBounded, isServedByIndex, readBoundedKeys } from './page-plan.ts'
import { pageStatement } from './page-query.ts'
import { readRowsOfIds } from './rows-of-ids.ts'
import { idOf, type Walk } from './walk.ts'
import { isWide, nextRows } from './wide-rows.ts'

export type Rows = readonly (readonly Value[])[]

/** The scope of the listed rows, and their person if only that person's rows are listed (§6.7). */
export interface RowScope {
  readonly scope: number
  readonly owner: number | undefined
}

/** The reads of a list: of the database, or of a transaction. */
export type ListSource = Reader & Pick<Database, 'snapshot' | 'longRead'>

/** One list request. */
export interface ListTask {
  readonly db: ListSource
  /** The customer, or the anonymous address, whose walks take turns with those of others. */
  readonly customer: TurnKey
  readonly collection: Collection
  readonly rowScope: RowScope
  readonly request: ListRequest
  /** Returns the JSON text of a row. */
  readonly encode: (row: readonly Value[]) => string
  /** Bounds of the attempt beside other requests and of the walk. Default: those of §7.10. */
  readonly bounds?: { readonly concurrent: ReadBounds; readonly long: ReadBounds }
  /** The rows that the items include. */
  readonly expansion?: PageExpansion | undefined
  /** Counts its work (§11.5). Pages above its bound, if it has one, give 503. Default: none. */
  readonly work?: ResponseWork | undefined
}

/** Rows of a page, and the JSON text of each. */
export interface PageContent {
  readonly rows: Rows
  readonly items: readonly string[]
}

export interface CursorPage extends PageContent {
  readonly next: Cursor | null
  readonly prev: Cursor | null
}

export interface NumberedPage extends PageContent {
  readonly total: number
}

/** Returns the walk of a request, from the beginning. */
export function createWalk({
  collection,
  rowScope,
  request,
}: Pick<ListTask, 'collection' | 'rowScope' | 'request'>): Walk {
  const isSelf = rowScope.owner !== undefined && collection.owner === idOf(collection)
  const self = { column: idOf(collection), operator: 'eq', values: [rowScope.owner!] } as const
  return {
    collection,
    scope: rowScope.scope,
    owner: isSelf ? undefined : rowScope.owner,
    filters: isSelf ? [...request.filters, self] : request.filters,
    terms: request.terms,
    sort: sortOf(collection, request),
    backward: false,
    anchor: undefined,
    inclusive: false,
    limit: request.limit,
    skip: 0,
  }
}

const BOUNDS: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte'])

/** Returns the sort keys: the order of commits replaces that of ids without bounds. */
export function sortOf({ commits, columns: [id] }: Collection, { sort, filters }: ListRequest) {
  const isBound = filters.some(
    ({ column, operator }) => column === id!.name && BOUNDS.has(operator),
  )
  if (!commits || isBound) return sort
  return sort.flatMap(({ column, descending }) =>
    column === id!.name
      ? commits.columns.map((column) => ({ column, descending }))
      : [{ column, descending }],
  )
}

/** Whether a cursor points towards the beginning. */
const isBackward = (cursor: Cursor | undefined): boolean =>
  cursor?.step === 'before' || cursor?.step === 'upto'

/** Reads at most `limit` further rows of a walk. */
type NextRows = (limit: number) => Promise<Rows>

function readAlongIndex(
  reader: Pick<Reader, 'arrays'>,
  walk: Walk,
  anchors = createAnchors(walk),
): NextRows {
  let next = walk
  return async (limit) => {
    const rows = await reader.arrays(pageStatement({ ...next, limit }))
    anchors.note(rows, next.anchor)
    const last = rows.at(-1)
    if (last) next = { ...walk, anchor: anchors.after(last), inclusive: false, skip: 0 }
    return rows
  }
}

function readBounded(reader: Reader, walk: Walk, bounds: ReadBounds): NextRows {
  let ids: Key[] | undefined
  return async (limit) => {
    ids ??= (await readBoundedKeys(reader, walk, bounds)).map((keys) => keys.at(-1)!)
    return readRowsOfIds(reader, walk, ids.splice(0, limit))
  }
}

interface FilledPage extends PageContent {
  /** Whether rows follow: the limit or the size of the response ended the page. */
  readonly more: boolean
  /** Whether the size of the response ended the page. */
  readonly isCut: boolean
}

/** Returns the characters of the texts of a row. */
const charactersOf = (row: readonly Value[]): number =>
  row.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 0), 0)

/** Reads until the page has its rows or its bytes. `ahead`: 1 to detect whether rows follow. */
async function fillPage(
  task: ListTask,
  next: NextRows,
  limit: number,
  ahead: 0 | 1,
): Promise<FilledPage> {
  const rows: (readonly Value[])[] = []
  const items: string[] = []
  /** Of the items; of an item whose row is larger, those of the row. */
  let bytes = 0
  const { work, collection } = task
  const { mostBytes = ITEMS_BYTES_MAX } = work ?? {}
  const { maxRowBytes = 0 } = collection
  const encode = work?.measure(task.encode) ?? task.encode
  for (;;) {
    const free = Math.min(ITEMS_BYTES_MAX, mostBytes) - bytes
    const rest = limit + ahead - rows.length
    const fitting = isWide(collection)
      ? nextRows({ maxRowBytes, rows: rows.length, bytes, free })
      : rest
    const most = Math.min(fitting, rest)
    if (most === 0) return { rows, items, more: false, isCut: false }
    if (rows.length > 0) await nextTick() // other requests run between two reads
    const read = await next(most)
    for (const row of read) {
      if (rows.length === limit) return { rows, items, more: true, isCut: false }
      const item = encode(row)
      const itemBytes = Math.max(sizeOf(item), isWide(collection) ? charactersOf(row) : 0)
      bytes += itemBytes
      const pause = work?.count(itemBytes)
      if (pause) await pause
      if (bytes > ITEMS_BYTES_MAX && rows.length > 0)
        return { rows, items, more: true, isCut: true }
      if (bytes > mostBytes) throw overloadFailure()
      rows.push(row)
      items.push(item)
    }
    if (read.length < most) return { rows, items, more: false, isCut: false }
  }
}

/**
 * Runs `read` in a snapshot beside other requests, and again in a long read when it exceeds its
 * bounds there (§7.10). `ordered` is false if one index serves the list.
 * Otherwise each statement reads in the order of its ORDER BY (`Database.snapshot`), and the number
 * of the customer's snapshots is bounded as well. Throws `query_too_expensive`.
 */
async function readWithinBounds<T>(
  task: ListTask,
  read: (reader: Reader, bounds: ReadBounds) => Promise<T>,
  options = { ordered: true },
): Promise<T> {
  const { db, customer, collection, rowScope, request } = task
  const { concurrent, long } = task.bounds ?? {
    concurrent: request.filters.some(readsWholeText) ? TEXT_BOUNDS : CONCURRENT_BOUNDS,
    long: LONG_READ_BOUNDS,
  }
  try {
    return await db.snapshot((reader) => read(reader, concurrent), { ...options, customer })
  } catch (error) {
    if (!(error instanceof BoundsExceeded)) throw error
  }
  try {
    return await db.longRead(customer, (reader) => read(countRows(reader, task.work), long))
  } catch (error) {
    const isTimeout = error instanceof Failure && error.code === 'query_too_expensive'
    if (!(error instanceof BoundsExceeded) && !isTimeout) throw error
    const reason = error instanceof BoundsExceeded ? error.reason : 'examined'
    throw createTooExpensive(collection, request, rowScope.owner, reason)
  }
}

type RowSource = (walk: Walk, anchors?: Anchors) => NextRows

/** Reads along the index that serves the walk, or within the bounds of the other lists. */
function readFrom<T>(
  task: ListTask,
  walk: Walk,
  read: (source: RowSource) => Promise<T>,
): Promise<T> {
  if (!isServedByIndex(walk)) {
    return readWithinBounds(task, (reader, bounds) =>
      read((part) => readBounded(reader, part, bounds)),
    )
  }
  const along = (reader: Reader) => read((part, anchors) => readAlongIndex(reader, part, anchors))
  // A backward page takes two reads, of the page and of the row after it, on one snapshot.
  return walk.backward ? task.db.snapshot(along, { customer: task.customer }) : along(task.db)
}

/** Reads a page of the cursor style, and one row more to detect a next page. */
export async function readCursorPage(
  task: ListTask,
  cursor: Cursor | undefined,
): Promise<CursorPage> {
  const walk: Walk = {
    ...createWalk(task),
    backward: isBackward(cursor),
    anchor: cursor?.keys,
    inclusive: cursor?.step === 'from' || cursor?.step === 'upto',
    limit: task.request.limit + 1,
  }
  const anchors = createAnchors(walk)
  const { page, hasFollowing } = await readFrom(task, walk, async (source) => {
    const page = await fillPage(task, source(walk, anchors), task.request.limit, 1)
    if (!walk.backward) return { page, hasFollowing: page.more }
    // The rows after a backward page may be deleted by now; has_more is true only if one exists.
    const { keys, isInclusive } = anchors.edge(page.rows[0])
    const following = { ...walk, backward: false, anchor: keys, inclusive: isInclusive, limit: 1 }
    const [row] = await source(following)(1)
    return { page, hasFollowing: row !== undefined }
  })
  const { rows, items, more } = await expandPage(task, page)
  const onward = (step: CursorStep) => (more ? { step, keys: anchors.after(rows.at(-1)!) } : null)
  /** Returns the cursor at the page's edge; for an empty page, at its former position (§7.6). */
  const back = (step: CursorStep, inclusiveStep: CursorStep): Cursor => {
    const { keys, isInclusive } = anchors.edge(rows[0])
    return { step: isInclusive ? inclusiveStep : step, keys }
  }
  if (!walk.backward) {
    return { rows, items, next: onward('after'), prev: cursor ? back('before', 'upto') : null }
  }
  return {
    rows: [...rows].reverse(),
    items: [...items].reverse(),
    next: hasFollowing ? back('after', 'from') : null,
    prev: onward('before'),
  }
}

/** Reads a page of the keyset style: ids above `after_id`, ascending. */
export async function readKeysetPage(task: ListTask): Promise<PageContent & { more: boolean }> {
  const { afterId, limit } = task.request
  const anchor = afterId === undefined ? undefined : [afterId]
  const walk: Walk = { ...createWalk(task), anchor, limit: limit + 1 }
  const page = await readFrom(task, walk, (source) => fillPage(task, source(walk), limit, 1))
  return expandPage(task, page)
}

/** Reads the rows after an anchor. An empty result is the end; large rows make a page shorter. */
export async function readRowsAfter(
  task: ListTask,
  anchor: readonly Key[] | undefined,
): Promise<Rows> {
  const walk: Walk = { ...createWalk(task), anchor }
  const { limit } = task.request
  return (await readFrom(task, walk, (source) => fillPage(task, source(walk), limit, 0))).rows
}

/** Reads a page by number from the nearer end, with the total of the same snapshot. */
export async function readNumberedPage(task: ListTask): Promise<NumberedPage> {
  const page = await readRowsByNumber(task)
  const { items, isCut } = await expandPage(task, { ...page, more: false, isCut: false })
  if (isCut) throw createPageTooLarge(task.request, items.length, { expand: true })
  return { ...page, items }
}

async function readRowsByNumber(task: ListTask): Promise<NumberedPage> {
  const ordered = !hasCounter(task) || !isServedByIndex(createWalk(task))
  const { skippedRows } = task.bounds?.concurrent ?? CONCURRENT_BOUNDS
  const isNearStart = task.request.offset <= skippedRows
  if (!ordered && isNearStart && !isWide(task.collection)) return readFromStart(task)
  return readWithinBounds(task, (reader, bounds) => readPageAtOffset(task, reader, bounds), {
    ordered,
  })
}

/** Whether a counter stores the total (§7.9). */
const hasCounter = ({ collection, rowScope, request }: ListTask): boolean =>
  collection.hasStoredTotal === true &&
  rowScope.owner === undefined &&
  request.filters.length + request.terms.length === 0

/** Reads a page from the start of the list, and the total of a counter, in one round trip. */
function readFromStart(task: ListTask): Promise<NumberedPage> {
  const { db, customer, collection, rowScope, request } = task
  return db.snapshot(
    async (reader) => {
      const next = readAlongIndex(reader, { ...createWalk(task), skip: request.offset })
      const [total, { rows, items, isCut }] = await runTogether(
        reader,
        () => readTotal(reader, rowScope.scope, collection.name),
        () => fillPage(task, next, request.limit, 0),
      )
      if (isCut) throw createPageTooLarge(request, rows.length)
      return { rows, items, total }
    },
    { single: true, customer },
  )
}

async function readPageAtOffset(
  task: ListTask,
  reader: Reader,
  bounds: ReadBounds,
): Promise<NumberedPage> {
  const { collection, rowScope, request } = task
  const walk = createWalk(task)
  const total = hasCounter(task)
    ? await readTotal(reader, rowScope.scope, collection.name)
    : await countBounded(reader, walk, bounds)
  const { offset } = request
  if (offset >= total) return { rows: [], items: [], total }
  const length = Math.min(request.limit, total - offset)
  const fromEnd = total - offset - length
  const skip = Math.min(offset, fromEnd)
  if (skip > MAX_SKIPPED_ROWS) throw createTooDeep(request)
  if (skip > bounds.skippedRows) throw new BoundsExceeded('examined')
  const backward = fromEnd < offset
  const page: Walk = { ...walk, backward, limit: length, skip }
  const source = isServedByIndex(walk)
    ? readAlongIndex(reader, page)
    : readBounded(reader, page, bounds)
  const { rows, items, isCut } = await fillPage(task, source, length, 0)
  if (isCut) throw createPageTooLarge(request, rows.length)
  if (!backward) return { rows, items, total }
  return { rows: [...rows].reverse(), items: [...items].reverse(), total }
}
