/**
 * Reads lists that no index serves alone (§7.10). Each attempt reads a bounded part of one index
 * and detects whether the part was sufficient. Counts for the values of the request select the
 * index, in the same way on both databases.
 *
 * The bound is a `LIMIT` in a subquery, which no planner exceeds. The outer query applies filters,
 * the position and another order to the examined rows.
 */
import type { Reader, Statement, Value } from '../storage/database.ts'
import { empty, join, raw, Sql, sql } from '../storage/sql.ts'
import { BoundsExceeded, type ReadBounds } from './bounds.ts'
import type { Key } from './cursor.ts'
import {
  type FilterPath,
  findFilterPaths,
  findOrderPath,
  idOf,
  isEqual,
  type OrderPath,
} from './paths.ts'
import {
  collectionConditions,
  columnOf,
  comparedColumn,
  filterCondition,
  hasOwnerColumn,
  isDescending,
  isOwnedCondition,
  orderTerms,
  pageQuery,
  type Slot,
  tableName,
  type Walk,
} from './plan.ts'

/** Fills the slots of a template from a walk. */
const bind = (template: Sql, walk: Walk): Sql =>
  new Sql(
    template.strings,
    template.values.map((slot) => (slot as Slot)(walk)),
  )

const statementOf = ({ sql: text, text: numbered, values }: Sql): Statement => ({
  sql: text,
  text: numbered,
  values,
  planned: true,
})

const read = (reader: Reader, query: Sql): Promise<Value[][]> => reader.arrays(statementOf(query))

async function countOf(reader: Reader, query: Sql): Promise<number> {
  const [row] = await read(reader, sql`SELECT count(*) FROM (${query}) AS examined`)
  return Number(row![0])
}

const namesOf = (walk: Walk): string[] => walk.sort.map((key) => key.column)

/** Returns the sort keys and the columns that the outer conditions need. */
function columnsFor(walk: Walk, residual: readonly number[], isOwnerServed: boolean): string[] {
  const { collection, owner } = walk
  const names = new Set(namesOf(walk))
  for (const at of residual) names.add(walk.filters[at]!.column)
  if (owner !== undefined && !isOwnerServed) names.add(collection.owner!)
  for (const name of collection.visible?.columns ?? []) names.add(name)
  return [...names]
}

/** Returns the outer conditions: residual filters, owner, visibility and position. */
function outerConditions(
  walk: Walk,
  residual: readonly number[],
  isOwnerServed: boolean,
  position: Sql,
): Sql {
  const parts = residual.map((place) => filterCondition(walk, place))
  if (walk.owner !== undefined && !isOwnerServed) parts.push(isOwnedCondition(walk))
  if (walk.collection.visible) parts.push(raw(walk.collection.visible.condition))
  if (position !== empty) parts.push(sql`(${position})`)
  return parts.length === 0 ? empty : bind(sql` WHERE ${join(parts, ' AND ')}`, walk)
}

/** Returns the positions of the filters that the index does not apply. */
const residualOf = (walk: Walk, served: readonly number[]): number[] =>
  walk.filters.map((_, at) => at).filter((at) => !served.includes(at))

/** Returns the condition that a row follows the anchor. */
function afterAnchor(walk: Walk): Sql {
  const { anchor, sort } = walk
  if (!anchor) return empty
  const alternatives: Sql[] = []
  sort.forEach((key, depth) => {
    const column = raw(key.column)
    const value: Slot = (other) => other.anchor![depth]
    const equalKeys = sort.slice(0, depth).map((other, at) => {
      const anchorKey: Slot = (template) => template.anchor![at]
      const name = raw(other.column)
      return anchor[at] === null ? sql`${name} IS NULL` : sql`${name} = ${anchorKey}`
    })
    const down = isDescending(walk, key)
    const equality = walk.inclusive && depth === sort.length - 1 ? '=' : ''
    if (anchor[depth] === null) {
      if (down) alternatives.push(join([...equalKeys, sql`${column} IS NOT NULL`], ' AND '))
      return
    }
    const after = sql`${column} ${raw(`${down ? '<' : '>'}${equality}`)} ${value}`
    alternatives.push(join([...equalKeys, after], ' AND '))
    if (!down && columnOf(walk, key.column).nullable) {
      alternatives.push(join([...equalKeys, sql`${column} IS NULL`], ' AND '))
    }
  })
  return join(alternatives, ' OR ')
}

const limitAndOffset = ({ limit, skip }: Walk): Sql =>
  skip > 0 ? sql` LIMIT ${limit} + 0 OFFSET ${skip} + 0` : sql` LIMIT ${limit} + 0`

/** Returns the query for the sort keys of the examined rows that match. */
const keyQuery = (walk: Walk, rows: Sql, where: Sql, isSorted: boolean): Sql => {
  const names = raw(namesOf(walk).join(', '))
  const orderBy = isSorted ? sql` ORDER BY ${orderTerms(walk, { fixedKeys: 0 }, true)}` : empty
  return sql`SELECT ${names} FROM (${rows}) AS examined${where}${orderBy}${limitAndOffset(walk)}`
}

/**
 * Returns the query for at most `most` entries of a filter's range. An equality is written as a
 * range, so that only this index has the order and PostgreSQL cannot choose another one.
 */
function rangeQuery(walk: Walk, path: FilterPath, columns: readonly string[], most: number): Sql {
  const name = comparedColumn(walk, path.column)
  const id = idOf(walk.collection)
  const orderColumns = path.endsWithId && name !== id ? `${name}, ${id}` : name
  const select = sql`SELECT ${raw(columns.join(', '))} FROM ${tableName(walk)}`
  const part = (condition: Sql, sorted = sql` ORDER BY ${raw(orderColumns)}`): Sql => {
    const where = join([...collectionConditions(walk), condition], ' AND ')
    return bind(sql`${select} WHERE ${where}${sorted} LIMIT ${raw(String(most))}`, walk)
  }
  const only = (value: Slot) => part(sql`${raw(name)} >= ${value} AND ${raw(name)} <= ${value}`)
  const [first] = path.filters
  if (first === undefined) {
    // Rows that another table connects to the person form several ranges without an order.
    return hasOwnerColumn(walk) ? only((other) => other.owner) : part(isOwnedCondition(walk), empty)
  }
  const { operator, values } = walk.filters[first]!
  if (operator !== 'in') {
    const all = path.filters.map((at) =>
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

const valueAt =
  (filter: number, n: number): Slot =>
  (other) =>
    other.filters[filter]!.values[n]

interface Range {
  readonly path: FilterPath
  readonly rows: number
}

/** Returns the smallest range if it has at most `most` rows. */
async function findSmallestRange(
  reader: Reader,
  walk: Walk,
  most: number,
): Promise<Range | undefined> {
  let best: Range | undefined
  const id = idOf(walk.collection)
  for (const path of findFilterPaths(walk)) {
    const bound = best ? best.rows : most + 1
    const rows = await countOf(reader, rangeQuery(walk, path, [id], bound))
    if (rows < bound) best = { path, rows }
  }
  return best
}

/** Reads the whole range and sorts it. */
function readRangeKeys(reader: Reader, walk: Walk, { path, rows }: Range): Promise<Value[][]> {
  const residual = residualOf(walk, path.filters)
  const isOwnerServed = path.filters.length === 0
  const columns = columnsFor(walk, residual, isOwnerServed)
  const examined = rangeQuery(walk, path, columns, rows)
  const where = outerConditions(walk, residual, isOwnerServed, afterAnchor(walk))
  return read(reader, keyQuery(walk, examined, where, true))
}

/** Returns the walk of the inner query, along the index of the path. */
function innerWalk(walk: Walk, path: OrderPath, most: number): Walk {
  const filters = path.served.map((at) => walk.filters[at]!)
  const owner = hasOwnerColumn(walk) ? walk.owner : undefined
  const plain: Walk = { ...walk, owner, limit: most, skip: 0, filters }
  if (path.order === 'full') return plain
  const id = walk.sort.at(-1)!
  const none = { ...plain, anchor: undefined, inclusive: false }
  if (path.order === 'none') return { ...none, sort: [{ ...id, descending: walk.backward }] }
  const first = walk.sort[0]!
  const sort = [first, { ...id, descending: first.descending }]
  return walk.anchor ? { ...none, sort, from: walk.anchor[0]! } : { ...none, sort }
}

/**
 * Reads the keys of the page along an index with its order. Undefined if `most` rows are not
 * sufficient. `within`: the range of the only filter, in which index entries are looked up without
 * reading rows.
 */
async function readOrderedKeys(
  reader: Reader,
  walk: Walk,
  path: OrderPath,
  most: number,
  within?: Range,
): Promise<Value[][] | undefined> {
  const inner = innerWalk(walk, path, most)
  const examined = (columns: readonly string[]): Sql => {
    const narrow = { ...inner, columns: [...new Set([...namesOf(inner), ...columns])] }
    return bind(pageQuery(narrow), narrow)
  }
  const id = idOf(walk.collection)
  const first = walk.sort[0]!.column
  const valueAtPlace = async (place: number): Promise<Value | undefined> => {
    const name = raw(first)
    const at = sql`SELECT ${name} FROM (${examined([])}) AS examined LIMIT 1 OFFSET ${place} + 0`
    return (await read(reader, at))[0]?.[0]
  }
  let last: Value | undefined
  if (path.order === 'first') {
    last = await valueAtPlace(most - 1)
    // Ties of the last examined row, and with them the end of the page, may follow it.
    if (last !== undefined && last === (await valueAtPlace(walk.skip + walk.limit - 1))) return
  }
  if (path.order === 'none' && (await countOf(reader, examined([]))) === most) return
  const residual = within ? [] : residualOf(walk, path.served)
  const columns = columnsFor(walk, residual, hasOwnerColumn(walk))
  const at = path.order === 'full' ? empty : afterAnchor(walk)
  let where = outerConditions(walk, residual, hasOwnerColumn(walk), at)
  if (within) {
    const ids = rangeQuery(walk, within.path, [id], within.rows)
    const members = sql`SELECT ${raw(id)} FROM (${ids}) AS members`
    const inRange = sql`CASE WHEN ${raw(id)} IN (${members}) THEN 1 END = 1`
    where = sql` WHERE ${inRange}`
  }
  const keys = await read(reader, keyQuery(walk, examined(columns), where, path.order !== 'full'))
  if (path.order === 'none') return keys
  if (path.order === 'first') {
    const isFull = keys.length === walk.limit && keys.at(-1)![0] !== last
    return last === undefined || isFull ? keys : undefined
  }
  if (keys.length === walk.limit) return keys
  return (await countOf(reader, examined([]))) < most ? keys : undefined
}

/**
 * Reads the sort keys of a page that no index serves alone. Throws `BoundsExceeded` when it would
 * examine more rows than allowed.
 */
export async function readBoundedKeys(
  reader: Reader,
  walk: Walk,
  bounds: ReadBounds,
): Promise<Key[][]> {
  const path = findOrderPath(walk)
  const most = walk.owner === undefined ? bounds.rows : bounds.ownRows
  const range = await findSmallestRange(reader, walk, most)
  if (range && range.rows <= bounds.smallRange)
    return (await readRangeKeys(reader, walk, range)) as Key[][]
  // The rows of a person are sorted in memory, or read in the order of the id (§7.9).
  const usesOrder = path.order === 'full' || (!range && walk.owner === undefined)
  if (usesOrder) {
    const within = range && coversResidual(walk, path, range) ? range : undefined
    const rows = range && !within ? Math.min(range.rows, bounds.rows) : bounds.rows
    const keys = await readOrderedKeys(reader, walk, path, rows, within)
    if (keys) return keys as Key[][]
  }
  if (!range) throw new BoundsExceeded('examined')
  return (await readRangeKeys(reader, walk, range)) as Key[][]
}

/** Whether the range applies all filters that the index of the order does not. */
function coversResidual(walk: Walk, path: OrderPath, range: Range): boolean {
  if (walk.collection.visible || walk.owner !== undefined || path.order !== 'full') return false
  const residual = residualOf(walk, path.served)
  return residual.every((at) => range.path.filters.includes(at))
}

/** Counts the rows of a walk without its position. Throws `BoundsExceeded`. */
export async function countBounded(
  reader: Reader,
  walk: Walk,
  bounds: ReadBounds,
): Promise<number> {
  const most = bounds.totalRows
  const range = await findSmallestRange(reader, walk, most)
  if (range) {
    const residual = residualOf(walk, range.path.filters)
    const isOwnerServed = range.path.filters.length === 0 || walk.owner === undefined
    if (residual.length === 0 && isOwnerServed && !walk.collection.visible) return range.rows
    if (range.rows > bounds.rows) throw new BoundsExceeded('counted')
    const columns = columnsFor(walk, residual, isOwnerServed)
    const examined = rangeQuery(walk, range.path, columns, range.rows)
    const where = outerConditions(walk, residual, isOwnerServed, empty)
    return countOf(reader, sql`SELECT 1 FROM (${examined}) AS examined${where}`)
  }
  const all = innerWalk(walk, { order: 'none', served: [] }, most + 1)
  const residual = residualOf(walk, [])
  const columns = columnsFor(walk, residual, hasOwnerColumn(walk))
  const examined = (names: readonly string[]): Sql => {
    const narrow = { ...all, columns: names }
    return bind(pageQuery(narrow), narrow)
  }
  const rows = await countOf(reader, examined([idOf(walk.collection)]))
  if (rows > most) throw new BoundsExceeded('counted')
  const where = outerConditions(walk, residual, hasOwnerColumn(walk), empty)
  return countOf(reader, sql`SELECT 1 FROM (${examined(columns)}) AS examined${where}`)
}

/** Sizes of `IN` lists: three texts serve pages of every size. */
const ID_LIST_SIZES = [8, 32, 128]

/** Reads the rows of the ids, in the order of the ids. */
export async function readRowsOfIds(
  reader: Reader,
  walk: Walk,
  ids: readonly Key[],
): Promise<Value[][]> {
  if (ids.length === 0) return []
  const size = ID_LIST_SIZES.find((candidate) => candidate >= ids.length)!
  const padded = [...ids, ...Array<Key>(size - ids.length).fill(ids.at(-1)!)]
  const names = walk.collection.columns.map((column) => column.name).join(', ')
  const id = idOf(walk.collection)
  const parts = walk.collection.scoped ? [sql`scope = ${walk.scope}`] : []
  const where = join([...parts, sql`${raw(id)} IN (${join(padded)})`], ' AND ')
  const rows = await read(reader, sql`SELECT ${raw(names)} FROM ${tableName(walk)} WHERE ${where}`)
  const byId = new Map(rows.map((row) => [row[0], row]))
  return ids.map((id) => byId.get(id)!)
}
