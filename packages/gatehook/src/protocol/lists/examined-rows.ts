/**
 * Reads a bounded part of one index, for lists that no index serves alone (§7.10). The bound is a
 * `LIMIT` in a subquery, which no planner exceeds. The outer query applies filters, the position
 * and another order to the examined rows. `page-plan.ts` chooses the index and the bound.
 */

import type { Reader, Statement, Value } from '../../platform/storage/database.ts'
import { empty, join, raw, Sql, sql } from '../../platform/storage/sql.ts'
import type { RelatedColumn } from './collection.ts'
import type { Key } from './cursor.ts'
import type { Filter } from './filter.ts'
import {
  afterAnchor,
  collectionConditions,
  conditionOf,
  filterCondition,
  isOwnedCondition,
  orderTerms,
  pageQuery,
  type Slot,
  sourceOf,
} from './page-query.ts'
import { idsOfLevel } from './related.ts'
import { entriesOfTerm, termConditions } from './term-query.ts'
import {
  columnOf,
  comparedColumn,
  hasOwnerColumn,
  idOf,
  isEqual,
  isInCommitOrder,
  orderColumns,
  type Walk,
} from './walk.ts'

/** An index in whose order the list can be read. */
export interface IndexOrder {
  /**
   * `full`: the order of the list. `first`: the order of its first sort key only. `none`: no index
   * has the order; all rows are read.
   */
  readonly order: 'full' | 'first' | 'none'
  /** Positions in `walk.filters` of the filters that the index applies. */
  readonly filters: readonly number[]
}

/** The range of an index that the filters of one column select, in any order. */
export interface IndexRange {
  readonly column: string
  /** Positions in `walk.filters`; empty for the owner's column and for a term. */
  readonly filters: readonly number[]
  /** The position in `walk.terms` if the range has the entries of a term. */
  readonly term?: number
  /** Whether index entries end with the id; those of a unique index do not. */
  readonly endsWithId: boolean
}

/** A range whose entries were counted for the values of the request. */
export interface MeasuredRange extends IndexRange {
  readonly rows: number
}

/** Fills the slots of a template from a walk. */
export const bind = (template: Sql, walk: Walk): Sql =>
  new Sql(
    template.strings,
    template.values.map((slot) => (slot as Slot)(walk)),
  )

export const statementOf = ({ sql: text, text: numbered, values }: Sql): Statement => ({
  sql: text,
  text: numbered,
  values,
  planned: true,
})

export const readQuery = (reader: Reader, query: Sql): Promise<Value[][]> =>
  reader.arrays(statementOf(query))

export async function countOf(reader: Reader, query: Sql): Promise<number> {
  const [row] = await readQuery(reader, sql`SELECT count(*) FROM (${query}) AS examined`)
  return Number(row![0])
}

/** The sort keys of a row, which end with its id. */
const namesOf = (walk: Walk): string[] => [
  ...new Set([...walk.sort.map((key) => key.column), idOf(walk.collection)]),
]

/** Returns the positions of the filters that an index does not apply. */
export const otherFilters = (
  walk: Walk,
  { filters }: Pick<IndexRange | IndexOrder, 'filters'>,
): number[] => walk.filters.map((_, at) => at).filter((at) => !filters.includes(at))

/** A bounded part of one index. */
export interface ExaminedRows {
  readonly select: (columns: readonly string[]) => Sql
  /** Positions of the filters that the index does not apply. */
  readonly otherFilters: readonly number[]
  readonly isOwnerApplied: boolean
  /** The position of the term that all rows fulfil. */
  readonly term?: number | undefined
}

/** Returns the column of the table that a filter reads. */
function filteredColumn(walk: Walk, { column, operator }: Filter): string {
  if (operator === 'same') return column
  const { related } = columnOf(walk, column) ?? {}
  return related ? related.steps[0]!.reference : comparedColumn(walk, column)
}

/**
 * Returns the condition in a form that PostgreSQL does not turn into a join with the rows of a
 * subquery: a join could return the examined rows in another order.
 */
const withoutJoin = (condition: Sql): Sql => sql`CASE WHEN ${condition} THEN 1 END = 1`

/** Returns the FROM and WHERE of the examined rows that match everything else. */
export function matchingRows(
  walk: Walk,
  { select, otherFilters, isOwnerApplied, term }: ExaminedRows,
  position: Sql,
): Sql {
  const { collection, filters, owner } = walk
  const columns = new Set(namesOf(walk))
  const conditions = otherFilters.map((at) => {
    columns.add(filteredColumn(walk, filters[at]!))
    return filterCondition(walk, at)
  })
  if (owner !== undefined && !isOwnerApplied) {
    columns.add(collection.owner!)
    conditions.push(withoutJoin(isOwnedCondition(walk)))
  }
  if (collection.visible) {
    for (const column of collection.visible.columns) columns.add(column)
    conditions.push(withoutJoin(raw(collection.visible.condition)))
  }
  if (position !== empty) conditions.push(sql`(${position})`)
  const terms = termConditions(walk, term)
  if (terms.length > 0) columns.add(idOf(collection))
  const rows = sql`(${select([...columns])}) AS examined`
  const all = [...conditions.map((condition) => bind(condition, walk)), ...terms]
  return all.length === 0 ? rows : sql`${rows} WHERE ${join(all, ' AND ')}`
}

/** In the order of commits, the rows of a begun transaction are first: see `anchors.ts`. */
const begunTransaction = ({ anchor, sort }: Walk): Sql =>
  anchor && anchor.length > sort.length
    ? sql`${raw(sort[0]!.column)} <> ${anchor[sort.length + 1]}, `
    : empty

/** Reads the sort keys of a page from matching rows. */
function readKeys(reader: Reader, walk: Walk, rows: Sql, isSorted: boolean): Promise<Key[][]> {
  const names = raw(namesOf(walk).join(', '))
  const terms = sql`${begunTransaction(walk)}${orderTerms(walk, { fixedKeys: 0 }, true)}`
  const orderBy = isSorted ? sql` ORDER BY ${terms}` : empty
  const offset = walk.skip > 0 ? sql` OFFSET ${walk.skip} + 0` : empty
  const page = sql`SELECT ${names} FROM ${rows}${orderBy} LIMIT ${walk.limit} + 0${offset}`
  return readQuery(reader, page) as Promise<Key[][]>
}

/**
 * Returns the query for at most `most` entries of a filter's range. An equality is written as a
 * range, so that only this index has the order and PostgreSQL cannot choose another one.
 */
function rangeQuery(walk: Walk, range: IndexRange, columns: readonly string[], most: number): Sql {
  const name = comparedColumn(walk, range.column)
  const sorted = range.endsWithId ? [name, ...orderColumns(walk)] : [name]
  const select = sql`SELECT ${raw(columns.join(', '))} FROM ${sourceOf(walk, columns)}`
  const part = (
    condition: Sql,
    orderBy = sql` ORDER BY ${raw([...new Set(sorted)].join(', '))}`,
  ): Sql => {
    const where = join([...collectionConditions(walk), condition], ' AND ')
    return bind(sql`${select} WHERE ${where}${orderBy} LIMIT ${raw(String(most))}`, walk)
  }
  const only = (value: Slot) => part(sql`${raw(name)} >= ${value} AND ${raw(name)} <= ${value}`)
  const { related } = columnOf(walk, range.column) ?? {}
  if (related) return relatedRange(walk, range, { related, columns, most })
  if (range.term !== undefined) return termRange(walk, range.term, columns, most)
  const [first] = range.filters
  if (first === undefined) {
    // Rows that another table connects to the person form several ranges without an order.
    return hasOwnerColumn(walk) ? only((other) => other.owner) : part(isOwnedCondition(walk), empty)
  }
  const { operator, values } = walk.filters[first]!
  if (operator !== 'in') {
    const all = range.filters.map((at) =>
      isEqual(walk.filters[at]!)
        ? sql`${raw(name)} >= ${valueAt(at, 0)} AND ${raw(name)} <= ${valueAt(at, 0)}`
        : filterCondition(walk, at),
    )
    return part(join(all, ' AND '))
  }
  if (values.length === 1) return only(valueAt(first, 0))
  const parts = values.map(
    (_, n) => sql`SELECT * FROM (${only(valueAt(first, n))}) AS ${raw(`value${n}`)}`,
  )
  return sql`${join(parts, ' UNION ALL ')} LIMIT ${raw(String(most))}`
}

/**
 * Returns the query for the rows of at most `most` entries of a term. SQLite reads the tables of a
 * CROSS JOIN in their order, and no index of a filter around a limit, which would bound nothing.
 */
function termRange(walk: Walk, term: number, columns: readonly string[], most: number): Sql {
  const ids = sql`SELECT DISTINCT id AS gh_id FROM (${entriesOfTerm(walk, term, most)}) AS entries`
  const conditions = join([...collectionConditions(walk), sql`1 = 1`], ' AND ')
  const rows = bind(sql`${sourceOf(walk, columns)} WHERE ${conditions}`, walk)
  return sql`SELECT ${raw(columns.join(', '))} FROM (${ids}) AS via CROSS JOIN ${rows}
    AND ${raw(idOf(walk.collection))} = via.gh_id LIMIT ${raw(String(most))}`
}

/** Returns the query for the rows that refer to the rows in the range of another table. */
function relatedRange(
  walk: Walk,
  { filters }: IndexRange,
  options: {
    readonly related: RelatedColumn
    readonly columns: readonly string[]
    readonly most: number
  },
): Sql {
  const { related, columns, most } = options
  const ids = idsOfLevel(walk, related, relatedConditions(walk, related, filters), {
    level: 0,
    most,
  })
  const conditions = [
    ...collectionConditions(walk),
    sql`${raw(related.steps[0]!.reference)} = via.gh_id`,
  ]
  const query = sql`SELECT ${raw(columns.join(', '))} FROM (${ids}) AS via
    CROSS JOIN ${sourceOf(walk, columns)}
    WHERE ${join(conditions, ' AND ')} LIMIT ${raw(String(most))}`
  return bind(query, walk)
}

/** Returns a condition for each part of the range: a value of `in`, or all bounds together. */
function relatedConditions(
  walk: Walk,
  { compared }: RelatedColumn,
  filters: readonly number[],
): Sql[] {
  const name = raw(compared)
  const [first] = filters
  const { operator, values } = walk.filters[first!]!
  if (operator === 'in') return values.map((_, n) => sql`${name} = ${valueAt(first!, n)}`)
  return [
    join(
      filters.map((at) => conditionOf(walk, at, name)),
      ' AND ',
    ),
  ]
}

const valueAt =
  (filter: number, n: number): Slot =>
  (other) =>
    other.filters[filter]!.values[n]

const rowsOfRange = (walk: Walk, range: MeasuredRange): ExaminedRows => ({
  select: (columns) => rangeQuery(walk, range, columns, range.rows),
  otherFilters: otherFilters(walk, range),
  isOwnerApplied: range.term === undefined && range.filters.length === 0,
  term: range.term,
})

/** Counts the entries of a range, at most `most`. */
export const countRange = (
  reader: Reader,
  walk: Walk,
  range: IndexRange,
  most: number,
): Promise<number> => {
  const { related } = columnOf(walk, range.column) ?? {}
  const query =
    range.term === undefined
      ? rangeQuery(walk, range, orderColumns(walk).slice(-1), most)
      : entriesOfTerm(walk, range.term, most)
  return related
    ? countRelated(reader, walk, { range, related, query, most })
    : countOf(reader, query)
}

/** Counts the rows of each level, and returns the largest number: the limit of every level. */
async function countRelated(
  reader: Reader,
  walk: Walk,
  options: {
    readonly range: IndexRange
    readonly related: RelatedColumn
    readonly query: Sql
    readonly most: number
  },
): Promise<number> {
  const { range, related, query, most } = options
  const conditions = relatedConditions(walk, related, range.filters)
  const levels = related.steps.map((_, level) =>
    bind(idsOfLevel(walk, related, conditions, { level, most }), walk),
  )
  let largest = 0
  for (const rows of [...levels.reverse(), query]) {
    largest = Math.max(largest, await countOf(reader, rows))
    if (largest >= most) return most
  }
  return largest
}

export const countInRange = (reader: Reader, walk: Walk, range: MeasuredRange): Promise<number> =>
  countOf(reader, sql`SELECT 1 FROM ${matchingRows(walk, rowsOfRange(walk, range), empty)}`)

/** Reads the keys of the page from a whole range, and sorts them. */
export const readRangeKeys = (reader: Reader, walk: Walk, range: MeasuredRange): Promise<Key[][]> =>
  readKeys(reader, walk, matchingRows(walk, rowsOfRange(walk, range), afterAnchor(walk)), true)

/** Returns the walk that reads `most` rows in the order of the index. */
function walkAlong(walk: Walk, index: IndexOrder, most: number): Walk {
  const filters = index.filters.map((at) => walk.filters[at]!)
  const owner = hasOwnerColumn(walk) ? walk.owner : undefined
  const plain: Walk = { ...walk, owner, limit: most, skip: 0, filters }
  if (index.order === 'full') return plain
  const ids = isInCommitOrder(walk) ? walk.sort : walk.sort.slice(-1)
  const id = ids.at(-1)!
  const none = { ...plain, anchor: undefined, inclusive: false }
  if (index.order === 'none')
    return { ...none, sort: ids.map((key) => ({ ...key, descending: walk.backward })) }
  const first = walk.sort[0]!
  const sort = [first, { ...id, descending: first.descending }]
  return walk.anchor ? { ...none, sort, from: walk.anchor[0]! } : { ...none, sort }
}

function rowsInOrder(walk: Walk, index: IndexOrder, most: number): ExaminedRows {
  const inner = walkAlong(walk, index, most)
  return {
    select(columns) {
      const narrow = { ...inner, columns: [...new Set([...namesOf(inner), ...columns])] }
      return bind(pageQuery(narrow), narrow)
    },
    otherFilters: otherFilters(walk, index),
    isOwnerApplied: hasOwnerColumn(walk),
  }
}

/** Counts all rows that match; undefined if there are more than `most` rows. */
export async function countAll(
  reader: Reader,
  walk: Walk,
  most: number,
): Promise<number | undefined> {
  const rows = rowsInOrder(walk, { order: 'none', filters: [] }, most + 1)
  if ((await countOf(reader, rows.select([]))) > most) return undefined
  return countOf(reader, sql`SELECT 1 FROM ${matchingRows(walk, rows, empty)}`)
}

/**
 * Reads the keys of the page in the order of an index. Undefined if `most` rows are not sufficient.
 * `within`: the range of all other filters, in which index entries are looked up without reading
 * rows.
 */
export async function readOrderedKeys(
  reader: Reader,
  walk: Walk,
  index: IndexOrder,
  most: number,
  within?: MeasuredRange,
): Promise<Key[][] | undefined> {
  const rows = rowsInOrder(walk, index, most)
  const areAllRead = async () => (await countOf(reader, rows.select([]))) < most
  const valueAtPlace = async (place: number): Promise<Value | undefined> => {
    const name = raw(walk.sort[0]!.column)
    const at = sql`SELECT ${name} FROM (${rows.select([])}) AS examined
      LIMIT 1 OFFSET ${place} + 0`
    return (await readQuery(reader, at))[0]?.[0]
  }
  if (index.order === 'none') {
    if (!(await areAllRead())) return undefined
    return readKeys(reader, walk, matchingRows(walk, rows, afterAnchor(walk)), true)
  }
  if (index.order === 'first') {
    const last = await valueAtPlace(most - 1)
    // Ties of the last examined row, and with them the end of the page, may follow it.
    if (last !== undefined && last === (await valueAtPlace(walk.skip + walk.limit - 1))) return
    const keys = await readKeys(reader, walk, matchingRows(walk, rows, afterAnchor(walk)), true)
    const isFull = keys.length === walk.limit && keys.at(-1)![0] !== last
    return last === undefined || isFull ? keys : undefined
  }
  const matching = within ? rowsWithin(walk, rows, within) : matchingRows(walk, rows, empty)
  const keys = await readKeys(reader, walk, matching, false)
  return keys.length === walk.limit || (await areAllRead()) ? keys : undefined
}

/** Returns the FROM and WHERE of the examined rows whose ids are in a range. */
function rowsWithin(walk: Walk, rows: ExaminedRows, range: MeasuredRange): Sql {
  const id = raw(idOf(walk.collection))
  const ids = rangeQuery(walk, range, [idOf(walk.collection)], range.rows)
  const members = sql`SELECT ${id} FROM (${ids}) AS members`
  return sql`(${rows.select([])}) AS examined WHERE ${withoutJoin(sql`${id} IN (${members})`)}`
}
