/**
 * Reads a page in the order of a field of another table (§15.9). It reads that table along its
 * index, and then the rows that refer to it; rows without a value in reach come last. Each read is
 * bounded, and all together examine at most `most` rows.
 */

import type { Reader } from '../../platform/storage/database.ts'
import { empty, join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { limitOf, type RelatedColumn, type RelatedStep } from './collection.ts'
import type { Key } from './cursor.ts'
import {
  bind,
  countOf,
  type ExaminedRows,
  matchingRows,
  readOrderedKeys,
  readQuery,
} from './examined-rows.ts'
import { collectionConditions, conditionOf, sourceOf } from './page-query.ts'
import { rowsOfStep } from './related.ts'
import { findRangeBeside, matchBeside } from './related-range.ts'
import { columnOf, idOf, isDescending, type Walk } from './walk.ts'

/** Rows of the other table that are read at first; later reads are four times as large. */
const FIRST_ROWS = 32
/** The same where filters exclude rows, or where each read sorts the range of a filter. */
const FIRST_FILTERED_ROWS = 128
const FIRST_RANGE_ROWS = 512
/** Related rows in the first part, to which rows refer. Later parts are twice as large. */
const FIRST_PART = 1
const FIRST_FILTERED_PART = 8
/** Most related rows to which so many rows refer that each has a read of its own. */
const READ_ALONE_MAX = 32
/** Ids in one list of a statement. */
const IDS_MAX = 512
/** A value of this many related rows is looked for in the order of the list first. */
const COMMON_ROWS = 128
const DENSE_ROWS_MAX = 4_000
/** The same for each row of a large page. */
const DENSE_ROWS_EACH = 100

/** Whether the first sort key is a related field that an index sorts, and the id follows it. */
export function canReadRelated(walk: Walk): boolean {
  const { related } = columnOf(walk, walk.sort[0]!.column)
  return related !== undefined && walk.sort.length === 2 && walk.owner === undefined
}

/** Related rows with one value, and rows that refer to them. */
interface Group {
  readonly key: Key
  readonly ids: readonly Key[]
}

/** Groups that are complete, or a value that many related rows have. */
type FilledPart =
  | { readonly groups: readonly Group[]; readonly key?: undefined }
  | { readonly key: Key }

/** The reads of one page. `left`: the rows that they can still examine. */
interface Reading {
  readonly reader: Reader
  readonly walk: Walk
  readonly related: RelatedColumn
  readonly needed: number
  left: number
}

class TooManyRows extends Error {}

/** Reads the keys of the page. Undefined if `most` rows are not sufficient. */
export async function readRelatedKeys(
  reader: Reader,
  walk: Walk,
  most: number,
): Promise<Key[][] | undefined> {
  const { related } = columnOf(walk, walk.sort[0]!.column)
  const needed = walk.skip + walk.limit
  const reading: Reading = { reader, walk, related: related!, needed, left: most }
  const limits = related!.steps.map((step) => limitOf(walk.collection, step))
  const isOpen = limits.every((limit) => limit === 'all')
  const canBeNull = ownFilters(walk).every((at) =>
    ['ne', 'null'].includes(walk.filters[at]!.operator),
  )
  const hasNulls = canBeNull && (!isOpen || !related!.isTotal || related!.isNullable)
  if (!isOpen && !limits.includes('none')) return undefined
  if (isOpen && !related!.isSorted) return undefined
  const keys: Key[][] = []
  const readFilled = async () => {
    if (!isOpen) return
    for await (const group of filledGroups(reading)) {
      const rest = needed - keys.length
      if (group.key === undefined) keys.push(...(await readGroups(reading, group.groups, rest)))
      else keys.push(...((await readDense(reading, group.key, rest)) ?? []))
      if (keys.length >= needed) return
    }
  }
  const readNulls = async () => {
    if (!hasNulls || keys.length >= needed) return
    keys.push(...(await readNullRows(reading, isOpen, needed - keys.length)))
  }
  const areNullsFirst = isDescending(walk, walk.sort[0]!)
  const anchor = walk.anchor?.[0]
  try {
    if (areNullsFirst) {
      if (anchor === undefined || anchor === null) await readNulls()
      if (keys.length < needed) await readFilled()
    } else {
      if (anchor !== null) await readFilled()
      await readNulls()
    }
  } catch (error) {
    if (error instanceof TooManyRows) return undefined
    throw error
  }
  return keys.slice(walk.skip, needed)
}

/** Returns the positions of the filters of the field that sorts. */
const ownFilters = ({ filters, sort }: Walk): number[] =>
  filters.flatMap(({ column }, at) => (column === sort[0]!.column ? [at] : []))

/** Runs a query that has at most `left` rows and one more. Throws `TooManyRows` beyond. */
async function readAll(reading: Reading, query: (most: Sql) => Sql): Promise<Key[][]> {
  const { reader, walk } = reading
  const rows = await readQuery(reader, bind(query(raw(String(reading.left + 1))), walk))
  reading.left -= rows.length
  if (reading.left < 0) throw new TooManyRows()
  return rows as Key[][]
}

/** Returns the groups with a value, several at a time, in the order of the walk. */
async function* filledGroups(reading: Reading): AsyncGenerator<FilledPart> {
  const { reader, walk, related } = reading
  const last = related.steps.at(-1)!
  const key = walk.sort[0]!
  const column = raw(related.column)
  const [direction, operator] = isDescending(walk, key) ? ['DESC', '<='] : ['ASC', '>=']
  const isAnchored = walk.anchor !== undefined && walk.anchor[0] !== null
  const anchor = (other: Walk) => other.anchor![0]
  const start = isAnchored ? sql`${column} ${raw(operator)} ${anchor}` : sql`${column} IS NOT NULL`
  const bounds = ownFilters(walk).map((at) => conditionOf(walk, at, raw(related.compared)))
  const position = join([start, ...bounds], ' AND ')
  const order = related.column === 'id' ? '' : `, id ${direction}`
  const range = await findRangeBeside(reader, walk, reading.left)
  reading.left -= range?.rows ?? 0
  const from = range
    ? sql`FROM (${range.query}) AS related WHERE ${position}`
    : rowsOfStep(walk, last, position)
  const matches = range ? raw('1') : matchBeside(walk)
  const first = walk.filters.length > 0 ? FIRST_FILTERED_PART : FIRST_PART
  const firstRows = walk.filters.length > 0 ? FIRST_FILTERED_ROWS : FIRST_ROWS
  let done = 0
  let tried: Key | undefined
  for (let size = range ? FIRST_RANGE_ROWS : firstRows; ; size *= 4) {
    const most = range ? size : Math.min(size, done + reading.left)
    const rows = (await readQuery(
      reader,
      bind(
        sql`SELECT ${column}, id, ${matches} ${from}
          ORDER BY ${column} ${raw(`${direction}${order} LIMIT ${most}`)}`,
        walk,
      ),
    )) as Key[][]
    const isEnd = rows.length < most
    // The last value may continue in the next read.
    const complete = isEnd ? rows : rows.filter(([value]) => value !== rows.at(-1)![0])
    if (!range) reading.left -= Math.max(0, complete.length - done)
    // The first groups can have all rows of the page, so that the first parts are small.
    const groups = groupsOf(complete.slice(done).filter(([, , isMatch]) => Number(isMatch) === 1))
    for (let at = 0; at < groups.length; at = at * 2 + first) {
      yield { groups: await leadingTo(reading, groups.slice(at, at * 2 + first)) }
    }
    const isCommon = complete.length <= done && rows.length >= COMMON_ROWS
    if (isCommon && tried !== rows[0]![0]) yield { key: (tried = rows[done]![0]!) }
    if (isEnd) return
    done = Math.max(done, complete.length)
    if (most < size || reading.left <= 0) throw new TooManyRows()
  }
}

function groupsOf(rows: readonly (readonly Key[])[]): Group[] {
  const groups: { key: Key; ids: Key[] }[] = []
  for (const [key, id] of rows) {
    const last = groups.at(-1)
    if (last && last.key === key) last.ids.push(id!)
    else groups.push({ key: key!, ids: [id!] })
  }
  return groups
}

/** Returns lists of ids that one statement can have. */
const portions = (ids: readonly Key[]): (readonly Key[])[] =>
  Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, at) =>
    ids.slice(at * IDS_MAX, (at + 1) * IDS_MAX),
  )

/** Replaces the ids of the last table by those of the first one, to which the list refers. */
async function leadingTo(reading: Reading, groups: readonly Group[]): Promise<Group[]> {
  const { steps } = reading.related
  let current = [...groups]
  for (let at = steps.length - 2; at >= 0; at--) {
    const ids = current.flatMap((group) => group.ids)
    const rows = await rowsReferringTo(reading, steps[at]!, steps[at + 1]!.reference, ids)
    const byTarget = Map.groupBy(rows, ([, target]) => target as Key)
    current = current.map(({ key, ids }) => ({
      key,
      ids: ids.flatMap((id) => (byTarget.get(id) ?? []).map(([row]) => row!)),
    }))
  }
  return current
}

async function rowsReferringTo(
  reading: Reading,
  step: RelatedStep,
  reference: string,
  ids: readonly Key[],
): Promise<Key[][]> {
  const rows: Key[][] = []
  for (const portion of portions(ids)) {
    const condition = sql`${raw(reference)} IN (${join(portion.map((id) => () => id))})`
    const query = (most: Sql) =>
      sql`SELECT id, ${raw(reference)} ${rowsOfStep(reading.walk, step, condition)} LIMIT ${most}`
    rows.push(...(await readAll(reading, query)))
  }
  return rows
}

/** Reads the keys of rows in the order of the groups: at least `needed` of them, if they exist. */
async function readGroups(
  reading: Reading,
  groups: readonly Group[],
  needed: number,
): Promise<Key[][]> {
  const left = reading.left
  const ids = groups.flatMap((group) => group.ids)
  const all = await readRowsOf(reading, ids, raw('1 = 1'), { needed: undefined })
  if (all) {
    const byTarget = Map.groupBy(all, ([target]) => target as Key)
    return groups.flatMap(({ key, ids }) => {
      const rows = ids.flatMap((id) => byTarget.get(id) ?? [])
      return inOrder(
        reading.walk,
        key,
        rows.map(([, id]) => id!),
      )
    })
  }
  if (ids.length > READ_ALONE_MAX) throw new TooManyRows()
  // Many rows refer to these: each is read in the order of the ids of the list.
  reading.left = left
  const keys: Key[][] = []
  for (const { key, ids } of groups) {
    const rowIds: Key[] = []
    for (const id of ids) {
      const rows = await readRowsOf(reading, [id], positionIn(reading.walk, key), { needed })
      if (!rows) throw new TooManyRows()
      rowIds.push(...rows.map(([, row]) => row!))
    }
    keys.push(...inOrder(reading.walk, key, rowIds))
    if (keys.length >= needed) break
  }
  return keys
}

/** Returns the keys of the rows of a group that follow the anchor, in the order of the walk. */
function inOrder(walk: Walk, key: Key, ids: readonly Key[]): Key[][] {
  const isDown = isDescending(walk, walk.sort[1]!)
  const compare = (left: Key, right: Key): number => (left! < right! ? -1 : left! > right! ? 1 : 0)
  const sorted = [...ids].sort((left, right) => compare(left, right) * (isDown ? -1 : 1))
  const isAtAnchor = walk.anchor !== undefined && walk.anchor[0] === key
  const from = walk.anchor?.[1] ?? null
  return sorted
    .filter((id) => {
      if (!isAtAnchor) return true
      const order = compare(id, from) * (isDown ? -1 : 1)
      return order > 0 || (walk.inclusive && order === 0)
    })
    .map((id) => [key, id])
}

/** Returns the condition that a row of a group follows the anchor. */
function positionIn(walk: Walk, key: Key): Sql {
  if (walk.anchor === undefined || walk.anchor[0] !== key) return raw('1 = 1')
  const operator = `${isDescending(walk, walk.sort[1]!) ? '<' : '>'}${walk.inclusive ? '=' : ''}`
  return sql`${raw(`${idOf(walk.collection)} ${operator}`)} ${(other: Walk) => other.anchor![1]}`
}

/**
 * Reads the reference and the id of the rows that refer to `ids`; a null id: those that refer to no
 * row. With `needed`, rows come in the order of their ids. Undefined beyond the bound.
 */
async function readRowsOf(
  reading: Reading,
  ids: readonly Key[],
  position: Sql,
  { needed }: { readonly needed: number | undefined },
): Promise<Key[][] | undefined> {
  const { reader, walk, related } = reading
  const reference = related.steps[0]!.reference
  const id = idOf(walk.collection)
  const narrow: Walk = { ...walk, sort: [walk.sort[1]!] }
  const hasConditions =
    walk.filters.length + walk.terms.length > 0 || walk.collection.visible !== undefined
  const rowIds: Key[][] = []
  const isNull = ids.includes(null)
  const filled = portions(ids.filter((value) => value !== null))
  for (const portion of isNull ? [...filled, [null]] : filled) {
    const most = !hasConditions && needed !== undefined ? needed : reading.left + 1
    const refers =
      portion[0] === null
        ? sql`${raw(reference)} IS NULL`
        : sql`${raw(reference)} IN (${join(portion.map((value) => () => value))})`
    const direction = raw(isDescending(walk, walk.sort[1]!) ? 'DESC' : 'ASC')
    const order = needed === undefined ? empty : sql` ORDER BY ${raw(id)} ${direction}`
    const rows: ExaminedRows = {
      select(columns) {
        const names = [...new Set([...columns, reference, id])]
        const conditions = [...collectionConditions(walk), refers, position]
        return bind(
          sql`SELECT ${raw(names.join(', '))} FROM ${sourceOf(walk, names)}
            WHERE ${join(conditions, ' AND ')}${order} LIMIT ${raw(String(most))}`,
          walk,
        )
      },
      otherFilters: walk.filters.map((_, at) => at),
      isOwnerApplied: true,
    }
    const limit = needed === undefined ? empty : raw(` LIMIT ${needed}`)
    const matching = sql`SELECT ${raw(`${reference}, ${id}`)} FROM
      ${matchingRows(narrow, rows, empty)}${order}${limit}`
    const keys = (await readQuery(reader, matching)) as Key[][]
    const isFull = needed !== undefined && keys.length === needed
    const examined = hasConditions && !isFull ? await countOf(reader, rows.select([])) : keys.length
    reading.left -= examined
    if (reading.left < 0) return undefined
    rowIds.push(...keys)
  }
  return rowIds
}

/** Reads the keys of rows with one value, in the order of their ids, from the list itself. */
async function readAlong(
  { reader, walk }: Reading,
  value: Key,
  { needed, most }: { readonly needed: number; readonly most: number },
): Promise<Key[][] | undefined> {
  const [key, id] = walk.sort
  const values = value === null ? [] : [value]
  const same = { column: key!.column, operator: 'same', values } as const
  const anchor = walk.anchor?.[0] === value ? [walk.anchor[1]!] : undefined
  const filters = [...walk.filters, same]
  const along: Walk = { ...walk, anchor, sort: [id!], filters, limit: needed, skip: 0 }
  const keys = await readOrderedKeys(reader, along, { order: 'full', filters: [] }, most)
  return keys?.map(([row]) => [value, row!])
}

/** Reads a page of rows with a value that is common in the list; undefined for another value. */
async function readDense(reading: Reading, value: Key, needed: number) {
  const most = Math.min(Math.max(DENSE_ROWS_MAX, DENSE_ROWS_EACH * needed), reading.left)
  const keys = await readAlong(reading, value, { needed, most })
  return keys?.length === needed ? keys : undefined
}

/** Reads the keys of rows without a value, in the order of their ids. */
async function readNullRows(reading: Reading, isOpen: boolean, needed: number): Promise<Key[][]> {
  const { related } = reading
  const dense = await readAlong(reading, null, { needed, most: reading.left })
  if (dense) return dense
  if (!isOpen) throw new TooManyRows()
  const ids = await idsWithoutValue(reading, related.steps)
  return readGroups(reading, [{ key: null, ids: [null, ...ids] }], needed)
}

/** Returns the ids of the rows of the first step from which no value is in reach. */
async function idsWithoutValue(
  reading: Reading,
  [step, ...rest]: readonly RelatedStep[],
): Promise<Key[]> {
  const { walk, related } = reading
  const next = rest[0]?.reference ?? related.column
  const isNull = rest.length > 0 || related.isNullable
  const rowIds: Key[] = []
  if (isNull) {
    const condition = sql`${raw(next)} IS NULL`
    const query = (most: Sql) => sql`SELECT id ${rowsOfStep(walk, step!, condition)} LIMIT ${most}`
    rowIds.push(...(await readAll(reading, query)).map(([id]) => id!))
  }
  if (rest.length > 0) {
    const further = await idsWithoutValue(reading, rest)
    const rows = await rowsReferringTo(reading, step!, next, further)
    rowIds.push(...rows.map(([id]) => id!))
  }
  return rowIds
}
