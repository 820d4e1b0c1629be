/**
 * Builds the SQL of a page that one index serves. The shape of a walk (columns, filters, order,
 * NULLs of the anchor) determines the text, which is cached. Values from requests fill its slots
 * and are never text. Pure.
 *
 * `(a, id) > (?, ?)` would seek on `a` only and read every tie. So the rows after an anchor are
 * read in segments, with one seek each: the same `a` and a larger id, then a larger `a`, then the
 * NULLs, which sort last (§7.6). UNION ALL reads the segments in order and stops when the page is
 * full.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Statement } from '../../platform/storage/database.ts'
import {
  empty,
  join,
  type PreparedStatement,
  prepareStatement,
  raw,
  type Sql,
  sql,
} from '../../platform/storage/sql.ts'
import { ownerCondition, relatedColumnsIn } from './collection.ts'
import type { Key } from './cursor.ts'
import { type Filter, OPERATORS, takesList } from './filter.ts'
import { relatedCondition, relatedValue } from './related.ts'
import {
  columnOf,
  comparedColumn,
  isDescending,
  isInCommitOrder,
  selectedColumns,
  type Walk,
} from './walk.ts'

/** A placeholder in a text, which returns its value for each walk of the same shape. */
export type Slot = (walk: Walk) => unknown

interface PreparedPage {
  readonly prepared: PreparedStatement
  readonly slots: readonly Slot[]
}

const STATEMENTS_MAX = 2000
/** By the columns of the list: services of one process may differ in those of one name. */
const statementsByColumns = new WeakMap<object, BoundedMap<string, PreparedPage>>()

function statementsOf({ columns }: Walk['collection']): BoundedMap<string, PreparedPage> {
  let statements = statementsByColumns.get(columns)
  if (!statements) statementsByColumns.set(columns, (statements = new BoundedMap(STATEMENTS_MAX)))
  return statements
}

/** Returns the statement that reads a walk's rows, in the direction of the walk. */
export function pageStatement(walk: Walk): Statement {
  const shape = pageShape(walk)
  const statements = statementsOf(walk.collection)
  let cached = statements.get(shape)
  if (!cached) {
    const source = pageQuery(walk)
    cached = { prepared: prepareStatement(source.sql), slots: source.values as Slot[] }
    statements.set(shape, cached)
  }
  const statement = cached.prepared(cached.slots.map((slot) => slot(walk)))
  // The best index depends on the frequency of a value, which differs between requests.
  return walk.filters.length > 0 ? { ...statement, planned: true } : statement
}

/** Returns the part of the shape that determines `rowConditions`. */
function conditionShape(walk: Walk): string {
  const { name, table, where, visible } = walk.collection
  // The source of derived columns differs between databases.
  let shape = name === table ? name : `${name} ${table}`
  // Services of one process may differ in the conditions of a list.
  if (where !== undefined) shape += ` where ${where}`
  if (visible) shape += ` visible ${visible.condition}`
  if (walk.owner !== undefined) shape += ' own'
  for (const { column, operator, values } of walk.filters) {
    shape += ` ${column}:${operator}:${values.length}`
  }
  return shape
}

/** Returns the shape that determines the text of `pageQuery`. */
function pageShape(walk: Walk): string {
  let shape = conditionShape(walk)
  for (const key of walk.sort) shape += `${isDescending(walk, key) ? ' -' : ' +'}${key.column}`
  if (walk.anchor) shape += walk.inclusive ? ' from ' : ' after '
  for (const key of walk.anchor ?? []) shape += key === null ? 'n' : 'v'
  if (walk.skip > 0) return `${shape} skip`
  return hasLiteralLimit(walk) ? `${shape} ${walk.limit}` : shape
}

/** Returns the name of the rows of `sourceOf` in a statement. */
export const aliasOf = ({ collection }: Walk): string => collection.table.split(' ').at(-1)!

/** Returns the table, with the fields of other rows that `columns` has. */
export function sourceOf(walk: Walk, columns: readonly string[] = []): Sql {
  const table = raw(walk.collection.table)
  const related = relatedColumnsIn(walk.collection, columns)
  if (related.length === 0) return table
  const alias = aliasOf(walk)
  const values = related.map(
    ({ name, related }) => sql`${relatedValue(walk, related!, alias)} AS ${raw(name)}`,
  )
  return sql`(SELECT ${raw(alias)}.*, ${join(values)} FROM ${table}) AS ${raw(alias)}`
}

const scope: Slot = (walk) => walk.scope
const owner: Slot = (walk) => walk.owner
const limit: Slot = (walk) => walk.limit
const skip: Slot = (walk) => walk.skip
const endOffset: Slot = (walk) => walk.limit + walk.skip

/** Limits of one row, the default page and the largest page, each plus one row. */
const LITERAL_LIMITS: ReadonlySet<number> = new Set([1, 21, 101])

/**
 * Whether the text contains the limit as a literal. PostgreSQL plans a statement with a bound limit
 * in each run, which costs as much as reading the page. Statements with filters need that, because
 * the best index depends on the value; statements without filters have one plan.
 */
const hasLiteralLimit = ({ limit, skip, filters, owner }: Walk): boolean =>
  LITERAL_LIMITS.has(limit) && skip === 0 && filters.length === 0 && owner === undefined

/** SQLite also plans each run for a bound LIMIT, unless the limit is an expression (`+ 0`). */
const limitClause = (walk: Walk, rows: Slot): Sql =>
  hasLiteralLimit(walk) ? raw(`LIMIT ${walk.limit}`) : sql`LIMIT ${rows} + 0`

/** Returns the query for the rows of a page, in the order of the walk. */
export function pageQuery(walk: Walk): Sql {
  const segments = segmentsOf(walk)
  const [first] = segments
  if (!first) return sql`${rowsOf(walk)} WHERE 1 = 0`
  const pageLimit = limitClause(walk, limit)
  const window = walk.skip > 0 ? sql`${pageLimit} OFFSET ${skip}` : pageLimit
  if (segments.length === 1) return sql`${select(walk, first)} ${window}`
  const segmentLimit = limitClause(walk, endOffset)
  const parts = segments.map(
    (segment, at) =>
      sql`SELECT * FROM (${select(walk, segment)} ${segmentLimit}) AS ${raw(`segment${at}`)}`,
  )
  const reach = segments.find((segment) => segment.reach)?.reach
  const lead = reach ? sql`WITH reach AS MATERIALIZED (${reach}) ` : empty
  return sql`${lead}${join(parts, ' UNION ALL ')} ${window}`
}

function rowsOf(walk: Walk): Sql {
  const names = selectedColumns(walk)
  return sql`SELECT ${raw(names.join(', '))} FROM ${sourceOf(walk, names)}`
}

/** Adjacent rows in the order of the list. */
interface Segment {
  /** The condition of the rows; `empty` for all rows. */
  readonly condition: Sql
  /** The number of leading sort keys that have one value in all rows. */
  readonly fixedKeys: number
  /** Whether the last of these keys is NULL in all rows. */
  readonly endsWithNull?: boolean
  /** The source of the rows, if it is not the table. */
  readonly reach?: Sql
}

function select(walk: Walk, segment: Segment): Sql {
  const rows = segment.reach
    ? sql`SELECT * FROM reach WHERE ${segment.condition}`
    : sql`${rowsOf(walk)} WHERE ${rowConditions(walk, segment.condition)}`
  return sql`${rows} ORDER BY ${orderTerms(walk, segment)}`
}

function segmentsOf(walk: Walk): Segment[] {
  const segments =
    walk.from !== undefined
      ? segmentsFromValue(walk, walk.from)
      : walk.anchor
        ? segmentsAfterAnchor(walk, walk.anchor)
        : allSegments(walk)
  return segments.flatMap((segment) =>
    segment.fixedKeys === 0 ? acrossTies(walk, segment) : [segment],
  )
}

/** Returns all rows; NULLs of the first key, which sort last, are a separate segment. */
function allSegments(walk: Walk): Segment[] {
  const key = walk.sort[0]!
  const column = raw(key.column)
  if (!columnOf(walk, key.column).nullable) return [{ condition: empty, fixedKeys: 0 }]
  const filled = { condition: sql`${column} IS NOT NULL`, fixedKeys: 0 }
  const nulls = { condition: sql`${column} IS NULL`, fixedKeys: 1 }
  return isDescending(walk, key) ? [nulls, filled] : [filled, nulls]
}

/** Returns the rows from a value of the first sort key to the end of the order. */
function segmentsFromValue(walk: Walk, from: Key): Segment[] {
  const key = walk.sort[0]!
  const column = raw(key.column)
  const down = isDescending(walk, key)
  const nulls = { condition: sql`${column} IS NULL`, fixedKeys: 1 }
  if (from === null) {
    return down ? [nulls, { condition: sql`${column} IS NOT NULL`, fixedKeys: 0 }] : [nulls]
  }
  const value: Slot = (other) => other.from
  const filled = { condition: sql`${column} ${raw(down ? '<=' : '>=')} ${value}`, fixedKeys: 0 }
  return down || !columnOf(walk, key.column).nullable ? [filled] : [filled, nulls]
}

/** Returns the rows after the anchor, or from it on if the walk includes it. */
function segmentsAfterAnchor(walk: Walk, anchor: readonly Key[]): Segment[] {
  if (isInCommitOrder(walk)) return segmentsAfterCommit(walk, anchor)
  const segments: Segment[] = []
  for (let depth = walk.sort.length - 1; depth >= 0; depth--) {
    const prefix = walk.sort.slice(0, depth).map((key, at) => equals(key.column, anchor, at))
    for (const segment of segmentsAfterKey(walk, anchor, depth)) {
      segments.push({ ...segment, condition: join([...prefix, segment.condition], ' AND ') })
    }
  }
  return segments
}

/**
 * Returns the rows after a commit. First are those of a late transaction whose first rows a page
 * has, and those of transactions that were open when the anchor was created. PostgreSQL, which
 * alone has this order, seeks on both columns of a row.
 */
function segmentsAfterCommit(walk: Walk, anchor: readonly Key[]): Segment[] {
  const at =
    (index: number): Slot =>
    (other) =>
      other.anchor![index]
  const [txid, position] = walk.sort.map(({ column }) => raw(column))
  const operator = raw(
    (isDescending(walk, walk.sort[0]!) ? '<' : '>') + (walk.inclusive ? '=' : ''),
  )
  const after = {
    condition: sql`(${txid}, ${position}) ${operator} (${at(0)}, ${at(1)})`,
    fixedKeys: 0,
  }
  if (anchor.length === walk.sort.length) return [after]
  const isFurther = sql`${txid} = ${at(3)} AND ${position} > ${at(4)}`
  const isLate = walk.collection.commits!.isAnyOf(txid!, at(2))
  return [isFurther, isLate].map((condition) => ({ condition, fixedKeys: 0 })).concat(after)
}

/** Returns the condition that a row follows the anchor; `empty` without an anchor. */
export const afterAnchor = (walk: Walk): Sql =>
  walk.anchor === undefined
    ? empty
    : join(
        segmentsAfterAnchor(walk, walk.anchor).map(({ condition }) => condition),
        ' OR ',
      )

function equals(name: string, anchor: readonly Key[], at: number): Sql {
  const value: Slot = (other) => other.anchor![at]
  return anchor[at] === null ? sql`${raw(name)} IS NULL` : sql`${raw(name)} = ${value}`
}

/**
 * Returns the rows whose key at `depth` follows the anchor's, in order. NULL follows all values.
 */
function segmentsAfterKey(walk: Walk, anchor: readonly Key[], depth: number): Segment[] {
  const key = walk.sort[depth]!
  const column = raw(key.column)
  const down = isDescending(walk, key)
  if (anchor[depth] === null) {
    return down ? [{ condition: sql`${column} IS NOT NULL`, fixedKeys: depth }] : []
  }
  const includesAnchor = walk.inclusive && depth === walk.sort.length - 1
  const operator = raw((down ? '<' : '>') + (includesAnchor ? '=' : ''))
  const value: Slot = (other) => other.anchor![depth]
  const filled = { condition: sql`${column} ${operator} ${value}`, fixedKeys: depth }
  const nulls = { condition: sql`${column} IS NULL`, fixedKeys: depth + 1, endsWithNull: true }
  return down || !columnOf(walk, key.column).nullable ? [filled] : [filled, nulls]
}

/**
 * Serves orders like `-created_at,id`, which no index has: sorting would read all rows that tie
 * with the page. The first segment reads one page in index order, with ties in any order, and drops
 * the rows with the last value. The second segment reads all rows with that value, with one seek.
 */
function acrossTies(walk: Walk, segment: Segment): Segment[] {
  const [key, id, ...more] = walk.sort
  const againstIndex =
    id && more.length === 0 && isDescending(walk, key!) !== isDescending(walk, id)
  if (!againstIndex) return [segment]
  const column = raw(key!.column)
  const [last, direction, nearer] = isDescending(walk, key!)
    ? ['min', 'DESC', '>']
    : ['max', 'ASC', '<']
  const rows = sql`${rowsOf(walk)} WHERE ${rowConditions(walk, segment.condition)}`
  const reach = sql`${rows} ORDER BY ${column} ${raw(direction!)} ${limitClause(walk, endOffset)}`
  const edge = sql`(SELECT ${raw(last!)}(${column}) FROM reach)`
  return [
    { reach, condition: sql`${column} ${raw(nearer!)} ${edge}`, fixedKeys: 0 },
    { condition: sql`${column} = ${edge}`, fixedKeys: 1 },
  ]
}

/** Returns the ORDER BY terms. `nulls`: whether the rows include NULLs of the first key. */
export function orderTerms(
  walk: Walk,
  { fixedKeys, endsWithNull }: Pick<Segment, 'fixedKeys' | 'endsWithNull'>,
  nulls = false,
): Sql {
  const last = walk.sort.at(-1)!
  const equalKeys = walk.anchor ? fixedKeys - (endsWithNull ? 1 : 0) : 0
  const terms = walk.sort.flatMap((key, at) => {
    // SQLite would sort the rows with an equal expression: it recognizes equal columns only.
    const isEqualExpression = at < equalKeys && walk.anchor![at] !== null
    if (isEqualExpression && columnOf(walk, key.column).isExpression) return []
    // The direction of a key with one value is arbitrary: with that of the id, one index serves
    // both.
    const direction = isDescending(walk, at < fixedKeys ? last : key) ? 'DESC' : 'ASC'
    // NULLs of the first key are a separate segment. No index has NULLs of later keys in order.
    const hasNulls = (at > 0 || nulls) && at >= fixedKeys && columnOf(walk, key.column).nullable
    return `${hasNulls ? `${key.column} IS NULL ${direction}, ` : ''}${key.column} ${direction}`
  })
  return raw(terms.join(', '))
}

/** Returns the conditions for scope, owner, filters and a segment. */
function rowConditions(walk: Walk, condition: Sql): Sql {
  const parts = collectionConditions(walk)
  if (walk.owner !== undefined) parts.push(isOwnedCondition(walk))
  walk.filters.forEach((filter, at) => {
    if (!isImpliedByAnchor(walk, filter)) parts.push(filterCondition(walk, at))
  })
  if (condition !== empty) parts.push(condition)
  return parts.length > 0 ? join(parts, ' AND ') : raw('1 = 1')
}

/** Returns the conditions for the scope and for all rows of the collection. */
export function collectionConditions(walk: Walk): Sql[] {
  const { collection } = walk
  const parts: Sql[] = []
  if (collection.scoped) parts.push(sql`scope = ${scope}`)
  if (isInCommitOrder(walk)) parts.push(raw(collection.commits!.isListed))
  if (collection.where) parts.push(raw(collection.where))
  return parts
}

export const isOwnedCondition = ({ collection }: Walk): Sql => {
  const path = { column: collection.owner!, through: collection.ownerThrough ?? [] }
  return ownerCondition(path, scope, owner)
}

/**
 * Whether every row after the anchor fulfils the filter. SQLite uses only one lower bound of a
 * column: with both, a page would read the rows between them again.
 */
function isImpliedByAnchor(walk: Walk, { column, operator }: Filter): boolean {
  const key = walk.sort[0]!
  if (walk.anchor === undefined || walk.anchor[0] === null || key.column !== column) return false
  const { nullable, folded } = columnOf(walk, column)
  if (nullable || folded !== undefined) return false
  return (isDescending(walk, key) ? ['lt', 'lte'] : ['gt', 'gte']).includes(operator)
}

/** Returns the condition of the filter at position `at` for the rows named `rows`. */
export function filterCondition(walk: Walk, at: number, rows = 'examined'): Sql {
  const { column, operator } = walk.filters[at]!
  if (operator === 'same') return conditionOf(walk, at, raw(column))
  const { related } = columnOf(walk, column) ?? {}
  const compared = related?.compared ?? comparedColumn(walk, column)
  const condition = conditionOf(walk, at, raw(compared))
  return related ? relatedCondition(walk, related, rows, condition) : condition
}

/** Returns the condition of a filter for the column that it compares. */
export function conditionOf(walk: Walk, at: number, compared: Sql): Sql {
  const { operator, values } = walk.filters[at]!
  const operands = values.map(
    (_, n): Slot =>
      (other) =>
        other.filters[at]!.values[n],
  )
  if (operator === 'filled') return sql`${compared} IS NOT NULL`
  if (operator === 'null') return sql`${compared} IS NULL`
  // Both databases have this function, and compare its result exactly.
  if (operator === 'holds') return sql`replace(${compared}, ${operands[0]}, '') <> ${compared}`
  if (operator === 'same') {
    return values.length === 0 ? sql`${compared} IS NULL` : sql`${compared} = ${operands[0]}`
  }
  const operand = takesList(operator) ? sql`(${join(operands)})` : sql`${operands[0]}`
  return sql`${compared} ${raw(OPERATORS[operator].sql)} ${operand}`
}
