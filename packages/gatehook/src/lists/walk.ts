/**
 * Reads one page: which rows, and which pages lie before and behind. Where one index serves the
 * list, SQL is by `plan.ts`; else by `bounded.ts`. The wire form is made in `list.ts`.
 */
import { overloaded } from '../http/egress.ts'
import { Failure } from '../kernel/failure.ts'
import type { TurnKey } from '../kernel/turns.ts'
import type { Database, Reader, Value } from '../storage/database.ts'
import { boundedCount, boundedKeys, rowsOfIds } from './bounded.ts'
import {
  AT_MOST,
  BESIDE_OTHERS,
  BeyondBounds,
  PAGE_BYTES_MAX,
  pageTooLarge,
  type ReadBounds,
  tooExpensive,
} from './bounds.ts'
import type { Collection } from './collection.ts'
import { total } from './counters.ts'
import type { Cursor, CursorStep, Key } from './cursor.ts'
import type { ListRequest } from './grammar.ts'
import { idOf, isExact } from './paths.ts'
import { pageStatement, type Walk } from './plan.ts'

export type Rows = readonly (readonly Value[])[]

/** Whose rows: the scope, and the person where a person asks (§6.7). */
export interface Reach {
  readonly scope: number
  readonly owner: number | undefined
}

/** One list request. */
export interface ListTask {
  readonly db: Database
  /** Takes its turn where a list needs a walk of its own: a customer, or an anonymous address. */
  readonly customer: TurnKey
  readonly collection: Collection
  readonly reach: Reach
  readonly request: ListRequest
  /** JSON text of a row. */
  readonly encode: (row: readonly Value[]) => string
  /** What each attempt may read; by default as §7.10 has it. */
  readonly bounds?: { readonly beside: ReadBounds; readonly most: ReadBounds }
  /** Bytes that the caller may be sent now (§11.5); beyond them, 503. Default: any. */
  readonly mostBytes?: number | undefined
}

/** Rows of a page, and each as JSON text. */
interface Content {
  readonly rows: Rows
  readonly items: readonly string[]
}

export interface CursorPage extends Content {
  readonly next: Cursor | null
  readonly prev: Cursor | null
}

export interface NumberedPage extends Content {
  readonly total: number
}

/** How far a page may lie from the nearer end before it is refused (§7.4). */
export const MAX_WALK_ROWS = 100_000

/** Rows read first where a few may fill a page (§11.5). */
const WIDE_BATCH_ROWS = 8
/** Of a row, until one was read. */
const WIDE_ROW_BYTES = 256 * 1024
/** What later reads of a wide page return, about: other requests are served between them. */
const WIDE_BATCH_BYTES = 1024 * 1024

function start({ collection, reach, request }: ListTask): Walk {
  const own = reach.owner !== undefined && collection.owner === idOf(collection)
  const self = { column: idOf(collection), operator: 'eq', values: [reach.owner!] } as const
  return {
    collection,
    scope: reach.scope,
    owner: own ? undefined : reach.owner,
    filters: own ? [...request.filters, self] : request.filters,
    sort: request.sort,
    backward: false,
    anchor: undefined,
    inclusive: false,
    limit: request.limit,
    skip: 0,
  }
}

/** Whether a cursor leads towards the beginning. */
const isBackward = (cursor: Cursor | undefined): boolean =>
  cursor?.step === 'before' || cursor?.step === 'upto'

/** Reads the next rows of a walk, at most so many. */
type NextRows = (most: number) => Promise<Rows>

function rowsAlongIndex(reader: Pick<Reader, 'arrays'>, walk: Walk): NextRows {
  const keys = keysOf(walk)
  let at = walk
  return async (most) => {
    const rows = await reader.arrays(pageStatement({ ...at, limit: most }))
    const last = rows.at(-1)
    if (last) at = { ...walk, anchor: keys(last), inclusive: false, skip: 0 }
    return rows
  }
}

function boundedRows(reader: Reader, walk: Walk, bounds: ReadBounds): NextRows {
  let ids: Key[] | undefined
  return async (most) => {
    ids ??= (await boundedKeys(reader, walk, bounds)).map((keys) => keys.at(-1)!)
    return rowsOfIds(reader, walk, ids.splice(0, most))
  }
}

interface Filled extends Content {
  /** Whether rows follow: more than the limit, or more than fit into a response. */
  readonly more: boolean
  /** Whether the bytes ended it. */
  readonly cut: boolean
}

/** Reads until the page has its rows or its bytes. `ahead`: 1 to learn whether rows follow. */
async function fill(task: ListTask, next: NextRows, limit: number, ahead: 0 | 1): Promise<Filled> {
  const rows: (readonly Value[])[] = []
  const items: string[] = []
  let bytes = 0
  const { mostBytes = PAGE_BYTES_MAX } = task
  const fitting = Math.max(1, Math.floor(mostBytes / WIDE_ROW_BYTES))
  let batch = task.collection.wide ? Math.min(WIDE_BATCH_ROWS, fitting) : limit + ahead
  for (;;) {
    const most = Math.min(batch, limit + ahead - rows.length)
    if (most === 0) return { rows, items, more: false, cut: false }
    const found = await next(most)
    for (const row of found) {
      if (rows.length === limit) return { rows, items, more: true, cut: false }
      const item = task.encode(row)
      bytes += sizeOf(item)
      if (bytes > PAGE_BYTES_MAX && rows.length > 0) return { rows, items, more: true, cut: true }
      if (bytes > mostBytes) throw overloaded()
      rows.push(row)
      items.push(item)
    }
    if (found.length < most) return { rows, items, more: false, cut: false }
    const free = Math.min(PAGE_BYTES_MAX, mostBytes, bytes + WIDE_BATCH_BYTES) - bytes
    batch = Math.max(1, Math.floor(free / Math.ceil(bytes / rows.length)))
  }
}

const SHORT = 4096
/** Bytes of a text with its comma; of a short one what it has at most. */
const sizeOf = (item: string): number =>
  item.length <= SHORT ? 3 * item.length + 1 : Buffer.byteLength(item) + 1

/**
 * Runs `read` in a snapshot beside other requests; where that would take too long, in a walk of its
 * own (§7.10). Unless one index serves the list, the customer's snapshots are bounded as well.
 * Throws `query_too_expensive`.
 */
async function bounded<T>(
  task: ListTask,
  read: (reader: Reader, bounds: ReadBounds) => Promise<T>,
  options = { ordered: true },
): Promise<T> {
  const { db, customer, collection, reach, request } = task
  const { beside, most } = task.bounds ?? { beside: BESIDE_OTHERS, most: AT_MOST }
  try {
    const own = options.ordered ? { ...options, customer } : options
    return await db.snapshot((reader) => read(reader, beside), own)
  } catch (error) {
    if (!(error instanceof BeyondBounds)) throw error
  }
  try {
    return await db.walk(customer, (reader) => read(reader, most))
  } catch (error) {
    const timedOut = error instanceof Failure && error.code === 'query_too_expensive'
    if (!(error instanceof BeyondBounds) && !timedOut) throw error
    const reason = error instanceof BeyondBounds ? error.reason : 'examined'
    throw tooExpensive(collection, request, reach.owner, reason)
  }
}

/** One row more than the page is read, to know whether there is a next one. */
export async function cursorPage(task: ListTask, cursor: Cursor | undefined): Promise<CursorPage> {
  const { db, request } = task
  const walk: Walk = {
    ...start(task),
    backward: isBackward(cursor),
    anchor: cursor?.keys,
    inclusive: cursor?.step === 'from' || cursor?.step === 'upto',
    limit: request.limit + 1,
  }
  if (!isExact(walk)) {
    return bounded(task, (reader, bounds) =>
      pageAt(task, walk, cursor, (one) => boundedRows(reader, one, bounds)),
    )
  }
  // Backward pages look twice (the page, and whether anything follows): one moment for both.
  return walk.backward
    ? db.snapshot((reader) => pageAt(task, walk, cursor, (one) => rowsAlongIndex(reader, one)))
    : pageAt(task, walk, cursor, (one) => rowsAlongIndex(db, one))
}

async function pageAt(
  task: ListTask,
  walk: Walk,
  cursor: Cursor | undefined,
  read: (walk: Walk) => NextRows,
): Promise<CursorPage> {
  const { rows, items, more } = await fill(task, read(walk), task.request.limit, 1)
  const keys = keysOf(walk)
  if (!walk.backward) {
    const next = more ? ({ step: 'after', keys: keys(rows.at(-1)!) } as const) : null
    return { rows, items, next, prev: cursor ? beside(rows[0], 'before', 'upto') : null }
  }
  const [ordered, shown] = [[...rows].reverse(), [...items].reverse()]
  const next = beside(ordered.at(-1), 'after', 'from')
  // Rows behind may have gone since: has_more promises that the next page has some.
  const inclusive = next.step === 'from'
  const behind = { ...walk, backward: false, anchor: next.keys, inclusive, limit: 1 }
  const [anyBehind] = await read(behind)(1)
  return {
    rows: ordered,
    items: shown,
    next: anyBehind ? next : null,
    prev: more ? { step: 'before', keys: keys(ordered[0]!) } : null,
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

function keysOf({ collection, sort }: Walk) {
  const at = sort.map((key) => collection.columns.findIndex((column) => column.name === key.column))
  return (row: readonly Value[]): Key[] => at.map((index) => row[index] as Key)
}

/** Keyset style: ids above `after_id`, ascending. */
export async function keysetPage(task: ListTask): Promise<Content & { more: boolean }> {
  const { afterId, limit } = task.request
  const anchor = afterId === undefined ? undefined : [afterId]
  const walk: Walk = { ...start(task), anchor, limit: limit + 1 }
  if (isExact(walk)) return fill(task, rowsAlongIndex(task.db, walk), limit, 1)
  return bounded(task, (reader, bounds) => fill(task, boundedRows(reader, walk, bounds), limit, 1))
}

/** A page by number, with the total of the same snapshot; walked from the nearer end. */
export async function numberedPage(task: ListTask): Promise<NumberedPage> {
  const ordered = !hasCounter(task) || !isExact(start(task))
  return bounded(task, (reader, bounds) => numberedAt(task, reader, bounds), { ordered })
}

/** Whether a counter holds the total (§7.9). */
const hasCounter = ({ collection, reach, request }: ListTask): boolean =>
  collection.hasStoredTotal && reach.owner === undefined && request.filters.length === 0

async function numberedAt(
  task: ListTask,
  reader: Reader,
  bounds: ReadBounds,
): Promise<NumberedPage> {
  const { collection, reach, request } = task
  const walk = start(task)
  const all = hasCounter(task)
    ? await total(reader, reach.scope, collection.name)
    : await boundedCount(reader, walk, bounds)
  const { offset } = request
  if (offset >= all) return { rows: [], items: [], total: all }
  const length = Math.min(request.limit, all - offset)
  const fromEnd = all - offset - length
  const skip = Math.min(offset, fromEnd)
  if (skip > MAX_WALK_ROWS) throw tooDeep(request)
  if (skip > bounds.skipped) throw new BeyondBounds('examined')
  const backward = fromEnd < offset
  const page: Walk = { ...walk, backward, limit: length, skip }
  const source = isExact(walk) ? rowsAlongIndex(reader, page) : boundedRows(reader, page, bounds)
  const { rows, items, cut } = await fill(task, source, length, 0)
  if (cut) throw pageTooLarge(request, rows.length)
  if (!backward) return { rows, items, total: all }
  return { rows: [...rows].reverse(), items: [...items].reverse(), total: all }
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
