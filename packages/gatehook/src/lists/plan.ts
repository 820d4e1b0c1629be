/**
 * The SQL of a page. From a shape (which columns, which filters, which order, where the anchor has NULLs) one
 * text is made and kept; values are parameters always. Pure.
 *
 * `(a, id) > (?, ?)` would seek on `a` only and read every tie. So the rows after an anchor are taken in
 * segments, each one seek: the same `a` and a larger id, then the larger `a`, then the NULLs (which sort as
 * the largest, §7.6). UNION ALL reads one segment after the other and stops when the page is full.
 */
import { fixed, type Prepared } from '../storage/sql.ts'
import type { Collection, ListColumn } from './collection.ts'
import type { Key } from './cursor.ts'
import { type Filter, operators } from './filter.ts'
import type { SortKey } from './grammar.ts'

export interface Walk {
  readonly collection: Collection
  readonly scope: number
  /** Only rows of this person (§6.7). */
  readonly owner: number | undefined
  readonly filters: readonly Filter[]
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
}

const MAX_PLANS = 2000
const plans = new Map<string, Prepared>()

/** The statement that reads a walk's rows, in the direction of the walk. */
export function pageStatement(walk: Walk): ReturnType<Prepared> {
  const segments = segmentsOf(walk)
  const base = baseValues(walk)
  const values: unknown[] = []
  for (const segment of segments) {
    values.push(...base, ...segment.values, walk.limit + walk.skip)
  }
  if (segments.length > 1 || walk.skip > 0) values.push(walk.limit)
  if (walk.skip > 0) values.push(walk.skip)
  return prepared(shapeKey('page', walk, segments), () => pageText(walk, segments))(values)
}

/** The statement that counts a walk's rows, wherever it stands. */
export function countStatement(walk: Walk): ReturnType<Prepared> {
  const text = () => `SELECT count(*) AS n FROM ${walk.collection.table} WHERE ${baseText(walk)}`
  return prepared(shapeKey('count', walk, []), text)(baseValues(walk))
}

function prepared(key: string, text: () => string): Prepared {
  let plan = plans.get(key)
  if (!plan) {
    if (plans.size >= MAX_PLANS) plans.clear()
    plan = fixed(text())
    plans.set(key, plan)
  }
  return plan
}

interface Segment {
  readonly condition: string
  readonly values: readonly Key[]
  /** How many leading sort keys are held equal, and need no ordering. */
  readonly equal: number
}

const columnOf = (walk: Walk, name: string): ListColumn =>
  walk.collection.columns.find((column) => column.name === name)!

const descends = (walk: Walk, key: SortKey): boolean => key.descending !== walk.backward

function segmentsOf(walk: Walk): Segment[] {
  const { anchor, sort } = walk
  if (!anchor) return beginning(walk)
  const segments: Segment[] = []
  for (let depth = sort.length - 1; depth >= 0; depth--) {
    const held = sort.slice(0, depth)
    const prefix = held.map((key, at) => equals(key.column, anchor[at]!))
    const values = anchor.slice(0, depth).filter((key) => key !== null)
    const key = sort[depth]!
    const last = depth === sort.length - 1
    for (const beyond of after(walk, key, anchor[depth]!, walk.inclusive && last)) {
      segments.push({
        condition: [...prefix, beyond.condition].join(' AND '),
        values: [...values, ...beyond.values],
        equal: depth,
      })
    }
  }
  return segments
}

/** Without an anchor: everything; NULLs of the first key by themselves, as they sort last. */
function beginning(walk: Walk): Segment[] {
  const key = walk.sort[0]!
  if (!columnOf(walk, key.column).nullable) return [{ condition: '', values: [], equal: 0 }]
  const filled = { condition: `${key.column} IS NOT NULL`, values: [], equal: 0 }
  const empty = { condition: `${key.column} IS NULL`, values: [], equal: 1 }
  return descends(walk, key) ? [empty, filled] : [filled, empty]
}

const equals = (column: string, value: Key): string =>
  value === null ? `${column} IS NULL` : `${column} = ?`

/** Conditions for "beyond this value", in order. NULL is beyond everything. */
function after(walk: Walk, key: SortKey, value: Key, inclusive: boolean) {
  const { column } = key
  const down = descends(walk, key)
  if (value === null) return down ? [{ condition: `${column} IS NOT NULL`, values: [] }] : []
  const operator = (down ? '<' : '>') + (inclusive ? '=' : '')
  const beyond = { condition: `${column} ${operator} ?`, values: [value] }
  const nulls = { condition: `${column} IS NULL`, values: [] }
  return !down && columnOf(walk, column).nullable ? [beyond, nulls] : [beyond]
}

function pageText(walk: Walk, segments: readonly Segment[]): string {
  const columns = walk.collection.columns.map((column) => column.name).join(', ')
  const [only] = segments
  if (segments.length === 0) return `SELECT ${columns} FROM ${walk.collection.table} WHERE 1 = 0`
  if (segments.length === 1 && walk.skip === 0) return segmentText(walk, only!, columns)
  const parts = segments.map(
    (segment, at) => `SELECT * FROM (${segmentText(walk, segment, columns)}) AS s${at}`,
  )
  return `${parts.join(' UNION ALL ')} LIMIT ?${walk.skip > 0 ? ' OFFSET ?' : ''}`
}

function segmentText(walk: Walk, segment: Segment, columns: string): string {
  const where = [baseText(walk), segment.condition].filter((part) => part !== '').join(' AND ')
  const order = walk.sort.slice(segment.equal).map((key, at) => {
    const direction = descends(walk, key) ? 'DESC' : 'ASC'
    const nullable = at + segment.equal > 0 && columnOf(walk, key.column).nullable
    // Only keys after the first need it here, and only then no index gives the order anyway.
    const nulls = nullable ? `${key.column} IS NULL ${direction}, ` : ''
    return `${nulls}${key.column} ${direction}`
  })
  const orderBy = order.length > 0 ? ` ORDER BY ${order.join(', ')}` : ''
  return `SELECT ${columns} FROM ${walk.collection.table} WHERE ${where}${orderBy} LIMIT ?`
}

function baseText(walk: Walk): string {
  const parts: string[] = []
  if (walk.collection.scoped) parts.push('scope = ?')
  if (walk.owner !== undefined) parts.push(`${walk.collection.owner} = ?`)
  if (walk.collection.where) parts.push(walk.collection.where)
  for (const filter of walk.filters) {
    const fold = columnOf(walk, filter.column).type === 'email'
    const column = fold ? `lower(${filter.column})` : filter.column
    const marks = filter.operator === 'in' ? `(${filter.values.map(() => '?').join(', ')})` : '?'
    parts.push(`${column} ${operators[filter.operator]} ${marks}`)
  }
  return parts.length > 0 ? parts.join(' AND ') : '1 = 1'
}

function baseValues(walk: Walk): unknown[] {
  const values: unknown[] = []
  if (walk.collection.scoped) values.push(walk.scope)
  if (walk.owner !== undefined) values.push(walk.owner)
  for (const filter of walk.filters) values.push(...filter.values)
  return values
}

function shapeKey(kind: string, walk: Walk, segments: readonly Segment[]): string {
  let key = `${kind} ${walk.collection.name}${walk.owner === undefined ? '' : ' own'}`
  for (const filter of walk.filters) {
    key += ` ${filter.column}:${filter.operator}:${filter.values.length}`
  }
  if (kind === 'count') return key
  for (const sort of walk.sort) key += ` ${descends(walk, sort) ? '-' : ''}${sort.column}`
  for (const segment of segments) key += ` (${segment.condition})`
  return walk.skip > 0 ? `${key} skip` : key
}
