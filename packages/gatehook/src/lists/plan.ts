/**
 * The SQL of a page. From the shape of a walk (which columns, which filters, which order, where the
 * anchor has NULLs) one text is made and kept; what a request sends fills its slots and is never
 * text. Pure.
 *
 * `(a, id) > (?, ?)` would seek on `a` only and read every tie. So the rows after an anchor are
 * taken in segments, each one seek: the same `a` and a larger id, then the larger `a`, then the
 * NULLs (which sort as the largest, §7.6). UNION ALL reads one segment after the other and stops
 * when the page is full.
 */
import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Statement } from '../storage/database.ts'
import {
  empty,
  join,
  type PreparedStatement,
  prepareStatement,
  raw,
  type Sql,
  sql,
} from '../storage/sql.ts'
import { type Collection, type ListColumn, ownerCondition } from './collection.ts'
import type { Key } from './cursor.ts'
import { type Filter, operators } from './filter.ts'
import type { SortKey } from './grammar.ts'

export interface Walk {
  readonly collection: Collection
  readonly scope: number
  /** Only rows of this person (§6.7). */
  readonly owner: number | undefined
  readonly filters: readonly Filter[]
  /** Ends with the id. */
  readonly sort: readonly SortKey[]
  /** Against the sort: towards its beginning. */
  readonly backward: boolean
  readonly anchor: readonly Key[] | undefined
  /** Whether the anchor's own row belongs to the page. */
  readonly inclusive: boolean
  /** Rows read at most. */
  readonly limit: number
  /** Rows passed over first. */
  readonly skip: number
  /** The columns read; all of the collection's by default. */
  readonly columns?: readonly string[]
  /** In place of an anchor: from this value of the first sort key on, ties included. */
  readonly from?: Key
}

/** Stands in a text for a value, and fetches it from each walk of the same shape. */
export type Slot = (walk: Walk) => unknown

interface Plan {
  readonly prepared: PreparedStatement
  readonly slots: readonly Slot[]
}

const MAX_PLANS = 2000
const plans = new BoundedMap<string, Plan>(MAX_PLANS)

/** The statement that reads a walk's rows, in the direction of the walk. */
export const pageStatement = (walk: Walk): Statement => statement(pageShape(walk), walk, page)

function statement(shape: string, walk: Walk, text: (walk: Walk) => Sql): Statement {
  let plan = plans.get(shape)
  if (!plan) {
    const source = text(walk)
    plan = { prepared: prepareStatement(source.sql), slots: source.values as Slot[] }
    plans.set(shape, plan)
  }
  const made = plan.prepared(plan.slots.map((slot) => slot(walk)))
  // How rare a value is decides which index is best, and the next request sends another value.
  return walk.filters.length > 0 ? { ...made, planned: true } : made
}

/** What the conditions of `base` depend on. */
function baseShape(walk: Walk): string {
  let shape = walk.owner === undefined ? walk.collection.name : `${walk.collection.name} own`
  for (const { column, operator, values } of walk.filters) {
    shape += ` ${column}:${operator}:${values.length}`
  }
  return shape
}

/** What the text of `page` depends on. */
function pageShape(walk: Walk): string {
  let shape = baseShape(walk)
  for (const key of walk.sort) shape += `${descends(walk, key) ? ' -' : ' +'}${key.column}`
  if (walk.anchor) shape += walk.inclusive ? ' from ' : ' after '
  for (const key of walk.anchor ?? []) shape += key === null ? 'n' : 'v'
  if (walk.skip > 0) return `${shape} skip`
  return isWritten(walk) ? `${shape} ${walk.limit}` : shape
}

export const columnOf = (walk: Walk, name: string): ListColumn =>
  walk.collection.columns.find((column) => column.name === name)!

export const descends = (walk: Walk, key: SortKey): boolean => key.descending !== walk.backward

export const table = (walk: Walk): Sql => raw(walk.collection.table)

const scope: Slot = (walk) => walk.scope
const owner: Slot = (walk) => walk.owner
const limit: Slot = (walk) => walk.limit
const skip: Slot = (walk) => walk.skip
const reached: Slot = (walk) => walk.limit + walk.skip

/** One row, the usual page, the largest; these and the row that tells whether there are more. */
const WRITTEN: ReadonlySet<number> = new Set([1, 21, 101])

/**
 * Whether the limit stands in the text. A bound one has the statement planned anew in every run, on
 * PostgreSQL at the price of reading the page. With filters that is as it should be: which index is
 * best hangs on how rare a value is. Without, there is but one.
 */
const isWritten = ({ limit, skip, filters, owner }: Walk): boolean =>
  WRITTEN.has(limit) && skip === 0 && filters.length === 0 && owner === undefined

/** A bare bound LIMIT has SQLite plan anew, too, for half the time of a page; not an expression. */
const atMost = (walk: Walk, rows: Slot): Sql =>
  isWritten(walk) ? raw(`LIMIT ${walk.limit}`) : sql`LIMIT ${rows} + 0`

/** The rows of a page, in the order of the walk. */
export function page(walk: Walk): Sql {
  const segments = segmentsOf(walk)
  const [first] = segments
  if (!first) return sql`${rowsOf(walk)} WHERE 1 = 0`
  const most = atMost(walk, limit)
  const window = walk.skip > 0 ? sql`${most} OFFSET ${skip}` : most
  if (segments.length === 1) return sql`${select(walk, first)} ${window}`
  const all = atMost(walk, reached)
  const parts = segments.map(
    (segment, at) => sql`SELECT * FROM (${select(walk, segment)} ${all}) AS ${raw(`segment${at}`)}`,
  )
  const reach = segments.find((segment) => segment.reach)?.reach
  const lead = reach ? sql`WITH reach AS MATERIALIZED (${reach}) ` : empty
  return sql`${lead}${join(parts, ' UNION ALL ')} ${window}`
}

function rowsOf(walk: Walk): Sql {
  const names = walk.columns ?? walk.collection.columns.map((column) => column.name)
  return sql`SELECT ${raw(names.join(', '))} FROM ${table(walk)}`
}

/** Rows that lie beside each other in the order. */
interface Segment {
  /** `empty` for all rows. */
  readonly condition: Sql
  /** How many leading sort keys have one value in all of its rows. */
  readonly held: number
  /** The rows it is taken from, where that is not the table. */
  readonly reach?: Sql
}

function select(walk: Walk, segment: Segment): Sql {
  const rows = segment.reach
    ? sql`SELECT * FROM reach WHERE ${segment.condition}`
    : sql`${rowsOf(walk)} WHERE ${base(walk, segment.condition)}`
  return sql`${rows} ORDER BY ${order(walk, segment)}`
}

function segmentsOf(walk: Walk): Segment[] {
  const { anchor, sort } = walk
  if (walk.from !== undefined) return fromFirstKey(walk, walk.from)
  if (!anchor) return beginning(walk)
  const segments: Segment[] = []
  for (let depth = sort.length - 1; depth >= 0; depth--) {
    const prefix = sort.slice(0, depth).map((key, at) => equals(key.column, anchor, at))
    for (const segment of beyond(walk, anchor, depth)) {
      segments.push({ ...segment, condition: join([...prefix, segment.condition], ' AND ') })
    }
  }
  return segments
}

/** Without an anchor: everything; NULLs of the first key by themselves, as they sort last. */
function beginning(walk: Walk): Segment[] {
  const key = walk.sort[0]!
  const column = raw(key.column)
  if (!columnOf(walk, key.column).nullable) return acrossTies(walk, empty)
  const filled = acrossTies(walk, sql`${column} IS NOT NULL`)
  const nulls = { condition: sql`${column} IS NULL`, held: 1 }
  return descends(walk, key) ? [nulls, ...filled] : [...filled, nulls]
}

/** Everything from a value of the first sort key on; its other rows come later in the order. */
function fromFirstKey(walk: Walk, from: Key): Segment[] {
  const key = walk.sort[0]!
  const column = raw(key.column)
  const down = descends(walk, key)
  const nulls = { condition: sql`${column} IS NULL`, held: 1 }
  if (from === null) {
    return down ? [nulls, { condition: sql`${column} IS NOT NULL`, held: 0 }] : [nulls]
  }
  const value: Slot = (other) => other.from
  const filled = { condition: sql`${column} ${raw(down ? '<=' : '>=')} ${value}`, held: 0 }
  return down || !columnOf(walk, key.column).nullable ? [filled] : [filled, nulls]
}

function equals(name: string, anchor: readonly Key[], at: number): Sql {
  const value: Slot = (other) => other.anchor![at]
  return anchor[at] === null ? sql`${raw(name)} IS NULL` : sql`${raw(name)} = ${value}`
}

/** Rows whose key at `depth` lies beyond the anchor's, in order. NULL is beyond everything. */
function beyond(walk: Walk, anchor: readonly Key[], depth: number): Segment[] {
  const key = walk.sort[depth]!
  const column = raw(key.column)
  const down = descends(walk, key)
  const tied = (condition: Sql): Segment[] =>
    depth === 0 ? acrossTies(walk, condition) : [{ condition, held: depth }]
  if (anchor[depth] === null) return down ? tied(sql`${column} IS NOT NULL`) : []
  const itself = walk.inclusive && depth === walk.sort.length - 1
  const operator = raw((down ? '<' : '>') + (itself ? '=' : ''))
  const value: Slot = (other) => other.anchor![depth]
  const filled = tied(sql`${column} ${operator} ${value}`)
  if (down || !columnOf(walk, key.column).nullable) return filled
  return [...filled, { condition: sql`${column} IS NULL`, held: depth + 1 }]
}

/**
 * `-created_at,id` runs against every index: sorting would read all rows that tie with the page. So
 * as many rows as a page has are read in the order of the index, ties in any order. All of them are
 * of the page but those with the last value, which may have more: these are read again, one seek.
 */
function acrossTies(walk: Walk, condition: Sql): Segment[] {
  const [key, id, ...more] = walk.sort
  const againstIndex = id && more.length === 0 && descends(walk, key!) !== descends(walk, id)
  if (!againstIndex) return [{ condition, held: 0 }]
  const column = raw(key!.column)
  const [last, direction, nearer] = descends(walk, key!)
    ? ['min', 'DESC', '>']
    : ['max', 'ASC', '<']
  const rows = sql`${rowsOf(walk)} WHERE ${base(walk, condition)}`
  const reach = sql`${rows} ORDER BY ${column} ${raw(direction!)} ${atMost(walk, reached)}`
  const edge = sql`(SELECT ${raw(last!)}(${column}) FROM reach)`
  return [
    { reach, condition: sql`${column} ${raw(nearer!)} ${edge}`, held: 0 },
    { condition: sql`${column} = ${edge}`, held: 1 },
  ]
}

/** `nulls`: whether the first key's NULLs are among the rows, in no segment of their own. */
export function order(walk: Walk, { held }: Pick<Segment, 'held'>, nulls = false): Sql {
  const last = walk.sort.at(-1)!
  const terms = walk.sort.map((key, at) => {
    // A key with one value has no direction of its own: it takes the id's, and an index serves
    // both.
    const direction = descends(walk, at < held ? last : key) ? 'DESC' : 'ASC'
    // The first key's NULLs are a segment by themselves; those of a later key no index has in
    // order.
    const mixed = (at > 0 || nulls) && at >= held && columnOf(walk, key.column).nullable
    return `${mixed ? `${key.column} IS NULL ${direction}, ` : ''}${key.column} ${direction}`
  })
  return raw(terms.join(', '))
}

/** Whose rows and which filters, and the condition of a segment. */
function base(walk: Walk, condition: Sql): Sql {
  const parts = whose(walk)
  if (walk.owner !== undefined) parts.push(ownerIs(walk))
  walk.filters.forEach((filter, at) => {
    if (!isPassed(walk, filter)) parts.push(filterCondition(walk, at))
  })
  if (condition !== empty) parts.push(condition)
  return parts.length > 0 ? join(parts, ' AND ') : raw('1 = 1')
}

/** The scope, and what all rows of the collection meet. */
export function whose({ collection }: Walk): Sql[] {
  const parts: Sql[] = []
  if (collection.scoped) parts.push(sql`scope = ${scope}`)
  if (collection.where) parts.push(raw(collection.where))
  return parts
}

/** Whether the table itself names the person: an index then leads to the person's rows. */
export const ownsDirectly = ({ collection }: Walk): boolean =>
  (collection.ownerThrough ?? []).length === 0

export const ownerIs = ({ collection }: Walk): Sql => {
  const path = { column: collection.owner!, through: collection.ownerThrough ?? [] }
  return ownerCondition(path, scope, owner)
}

/**
 * Whether every row behind the anchor meets the filter. SQLite uses one lower bound of a column
 * only: with both, a page would read again what lies between them.
 */
function isPassed(walk: Walk, { column, operator }: Filter): boolean {
  const key = walk.sort[0]!
  if (walk.anchor === undefined || walk.anchor[0] === null || key.column !== column) return false
  const { nullable, type } = columnOf(walk, column)
  if (nullable || type === 'email') return false
  return (descends(walk, key) ? ['lt', 'lte'] : ['gt', 'gte']).includes(operator)
}

/**
 * A column as filters compare it: e-mail addresses without case (§6.8). The owner's column may be
 * one that no list shows.
 */
export const compared = (walk: Walk, column: string): string =>
  walk.collection.columns.find(({ name }) => name === column)?.type === 'email'
    ? `lower(${column})`
    : column

/** The condition of the filter at this place. */
export function filterCondition(walk: Walk, at: number): Sql {
  const { column, operator, values } = walk.filters[at]!
  const operands = values.map(
    (_, n): Slot =>
      (other) =>
        other.filters[at]!.values[n],
  )
  const operand = operator === 'in' ? sql`(${join(operands)})` : sql`${operands[0]}`
  return sql`${raw(compared(walk, column))} ${raw(operators[operator])} ${operand}`
}
