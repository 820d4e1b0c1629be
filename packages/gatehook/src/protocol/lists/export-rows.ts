/**
 * Reads all rows of a list in chunks, in constant memory. Each chunk is a seek from the last row of
 * the previous one: changes meanwhile neither repeat nor skip a row that stays in its place.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { Failure } from '../../kernel/failure.ts'
import type { Pace } from '../../kernel/pace.ts'
import type { Reader, Statement, Value } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { keysOf } from './anchors.ts'
import { TEXT_BOUNDS } from './bounds.ts'
import type { Key } from './cursor.ts'
import { readsWholeText } from './filter.ts'
import type { Rows } from './page.ts'
import { isServedByIndex } from './page-plan.ts'
import {
  afterAnchor,
  collectionConditions,
  filterCondition,
  isOwnedCondition,
  orderTerms,
  pageStatement,
  type Slot,
  sourceOf,
} from './page-query.ts'
import { termConditions } from './term-query.ts'
import { idOf, selectedColumns, type Walk } from './walk.ts'
import { isWide, mostRows } from './wide-rows.ts'

/** Rows of the first chunk, from which the size of the others follows. */
const FIRST_ROWS = 8
const ROWS_MAX = 400
/** Rows of a chunk if one row can have 80 KiB or more. */
const WIDE_ROWS_MAX = 64
/** Approximate size of the text of a chunk. */
const CHUNK_CHARACTERS = 32_768
/** Text of large rows that is encoded between two turns of other requests. */
const TURN_CHARACTERS = 65_536
/** Rows that a chunk examines at most if no index applies the filters. */
const EXAMINED_ROWS = 2_000

/** Rows as text, and the position after them. */
export interface ExportChunk {
  readonly text: string
  readonly keys: readonly Key[]
}

interface ChunkRows {
  readonly rows: Rows
  /** The position after the examined rows; undefined at the end of the list. */
  readonly next: readonly Key[] | undefined
}

/**
 * Reads the rows of a walk in its order, as text. Each chunk takes the share of its customer
 * (`startPace`). Throws `query_too_expensive` at once.
 */
export async function* readExportChunks(
  reader: Reader,
  walk: Walk,
  encode: (row: readonly Value[]) => string,
  startPace: () => Pace,
): AsyncGenerator<ExportChunk> {
  const read = isServedByIndex(walk) ? readAlongIndex : readSpans
  const { collection } = walk
  const rowsMax = Math.min(isWide(collection) ? WIDE_ROWS_MAX : ROWS_MAX, mostRows(collection))
  const keys = keysOf(walk)
  let position: Walk = { ...walk, limit: Math.min(FIRST_ROWS, rowsMax) }
  for (;;) {
    const pace = startPace()
    const { rows, next } = await read(reader, position)
    await pace()
    let text = ''
    let turnAt = TURN_CHARACTERS
    for (const row of rows) {
      text += encode(row)
      if (text.length < turnAt) continue
      turnAt = text.length + TURN_CHARACTERS
      await nextTick()
    }
    const last = rows.at(-1)
    if (last) yield { text, keys: next ?? keys(last) }
    if (next === undefined) return
    const fitting = last ? Math.floor((CHUNK_CHARACTERS * rows.length) / text.length) : rowsMax
    const limit = Math.max(1, Math.min(rowsMax, position.limit * 4, fitting))
    position = { ...position, anchor: next, inclusive: false, limit }
    await nextTick() // other requests run between two chunks
  }
}

/** Reads the next rows along the index that has the order and applies the filters. */
async function readAlongIndex(reader: Reader, walk: Walk): Promise<ChunkRows> {
  const rows = await reader.arrays(pageStatement(walk))
  const last = rows.at(-1)
  return { rows, next: last && rows.length === walk.limit ? keysOf(walk)(last) : undefined }
}

/**
 * Examines the next rows in the order of the id, and returns those that pass the filters. The
 * filters apply to a subquery with a limit, so that no planner reads the table along another index.
 */
async function readSpans(reader: Reader, walk: Walk): Promise<ChunkRows> {
  const { collection, filters } = walk
  if (walk.sort.length > 1) throw createNotExportable()
  const id = raw(idOf(collection))
  const searchedRows = filters.some(readsWholeText) ? TEXT_BOUNDS.rows : EXAMINED_ROWS
  const examinedRows = Math.min(searchedRows, mostRows(collection))
  const span = { ...walk, limit: isWide(collection) ? walk.limit : examinedRows }
  const inOrder = (columns: string, more: readonly Sql[]): Sql => {
    const conditions = [...collectionConditions(walk), ...more]
    if (walk.anchor) conditions.push(sql`(${afterAnchor(walk)})`)
    return sql`SELECT ${raw(columns)} FROM ${sourceOf(walk)} WHERE ${join(conditions, ' AND ')}
      ORDER BY ${orderTerms(walk, { fixedKeys: 0 })} LIMIT ${limitOf} + 0`
  }
  const end = raw(walk.sort[0]!.descending ? 'min' : 'max')
  const [bounds] = await reader.arrays(
    bind(sql`SELECT ${end}(${id}), count(*) FROM (${inOrder(idOf(collection), [])}) AS span`, span),
  )
  const [last, examined] = [bounds![0] as Key, Number(bounds![1])]
  if (examined === 0) return { rows: [], next: undefined }
  const upTo = sql`${id} ${raw(walk.sort[0]!.descending ? '>=' : '<=')} ${last}`
  const names = selectedColumns(walk).join(', ')
  const conditions = filters.map((_, at) => filterCondition(walk, at, 'span'))
  conditions.push(...termConditions(walk, undefined, 'span'))
  if (walk.owner !== undefined) conditions.push(isOwnedCondition(walk))
  // Rows that others add to the span meanwhile must not replace its last ones.
  const rows = await reader.arrays(
    bind(
      sql`SELECT ${raw(names)} FROM (${inOrder(names, [upTo])}) AS span
        WHERE ${join(conditions, ' AND ')} ORDER BY ${orderTerms(walk, { fixedKeys: 0 })}`,
      { ...span, limit: span.limit * 2 },
    ),
  )
  return { rows, next: examined === span.limit ? [last] : undefined }
}

const limitOf: Slot = (walk) => walk.limit

/** Fills the slots of a text with the values of a walk. */
function bind(source: Sql, walk: Walk): Statement {
  const values = source.values.map((value) =>
    typeof value === 'function' ? (value as Slot)(walk) : value,
  )
  return { ...prepareStatement(source.sql)(values), planned: true }
}

const createNotExportable = (): Failure => {
  const message = 'An export with these filters reads in the order of the id. Remove sort.'
  return new Failure('query_too_expensive', message, {
    errors: [{ parameter: 'sort', code: 'query_too_expensive', message }],
  })
}
