/**
 * Lists that no index serves alone (§7.10): each attempt reads a bounded part of one index and
 * knows whether the part was enough. Which index is read follows from counts taken now, for the
 * values at hand, on both databases alike.
 *
 * A `LIMIT` in a subquery is the bound: no planner reads past it, and what stands outside of it
 * (filters, the position, another order) is applied to the rows examined.
 */
import type { Reader, Statement, Value } from '../storage/database.ts'
import { empty, join, raw, Sql, sql } from '../storage/sql.ts'
import { BeyondBounds, type ReadBounds } from './bounds.ts'
import type { Key } from './cursor.ts'
import { type FilterPath, filterPaths, idOf, isEqual, type OrderPath, orderPath } from './paths.ts'
import {
  columnOf,
  compared,
  descends,
  filterCondition,
  order,
  ownerIs,
  ownsDirectly,
  page,
  type Slot,
  table,
  type Walk,
  whose,
} from './plan.ts'

/** A template whose slots are filled from the walk. */
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
  const [row] = await read(reader, sql`SELECT count(*) FROM (${query}) AS counted`)
  return Number(row![0])
}

const namesOf = (walk: Walk): string[] => walk.sort.map((key) => key.column)

/** The columns that the conditions outside the bound need, and the sort keys. */
function columnsFor(walk: Walk, residual: readonly number[], ownerServed: boolean): string[] {
  const { collection, owner } = walk
  const names = new Set(namesOf(walk))
  for (const at of residual) names.add(walk.filters[at]!.column)
  if (owner !== undefined && !ownerServed) names.add(collection.owner!)
  for (const name of collection.visible?.columns ?? []) names.add(name)
  return [...names]
}

/** The conditions outside the bound: filters no index holds, who sees the row, the position. */
function outside(walk: Walk, residual: readonly number[], ownerServed: boolean, at: Sql): Sql {
  const parts = residual.map((place) => filterCondition(walk, place))
  if (walk.owner !== undefined && !ownerServed) parts.push(ownerIs(walk))
  if (walk.collection.visible) parts.push(raw(walk.collection.visible.condition))
  if (at !== empty) parts.push(sql`(${at})`)
  return parts.length === 0 ? empty : bind(sql` WHERE ${join(parts, ' AND ')}`, walk)
}

const residualOf = (walk: Walk, served: readonly number[]): number[] =>
  walk.filters.map((_, at) => at).filter((at) => !served.includes(at))

/** Rows behind the anchor, as a condition on rows that were read for another reason. */
function behind(walk: Walk): Sql {
  const { anchor, sort } = walk
  if (!anchor) return empty
  const ways: Sql[] = []
  sort.forEach((key, depth) => {
    const column = raw(key.column)
    const value: Slot = (other) => other.anchor![depth]
    const same = sort.slice(0, depth).map((other, at) => {
      const held: Slot = (one) => one.anchor![at]
      const name = raw(other.column)
      return anchor[at] === null ? sql`${name} IS NULL` : sql`${name} = ${held}`
    })
    const down = descends(walk, key)
    const itself = walk.inclusive && depth === sort.length - 1 ? '=' : ''
    if (anchor[depth] === null) {
      if (down) ways.push(join([...same, sql`${column} IS NOT NULL`], ' AND '))
      return
    }
    const beyond = sql`${column} ${raw(`${down ? '<' : '>'}${itself}`)} ${value}`
    ways.push(join([...same, beyond], ' AND '))
    if (!down && columnOf(walk, key.column).nullable) {
      ways.push(join([...same, sql`${column} IS NULL`], ' AND '))
    }
  })
  return join(ways, ' OR ')
}

const window = ({ limit, skip }: Walk): Sql =>
  skip > 0 ? sql` LIMIT ${limit} + 0 OFFSET ${skip} + 0` : sql` LIMIT ${limit} + 0`

const keysIn = (walk: Walk, rows: Sql, where: Sql, sorted: boolean): Sql => {
  const names = raw(namesOf(walk).join(', '))
  const by = sorted ? sql` ORDER BY ${order(walk, { held: 0 }, true)}` : empty
  return sql`SELECT ${names} FROM (${rows}) AS examined${where}${by}${window(walk)}`
}

// Along a filter's index: the range is read whole, and sorted.

/**
 * At most so many entries of the range. An equality is written as a range: then only this index has
 * the order, and PostgreSQL takes no other because values seem common.
 */
function rangeOf(walk: Walk, path: FilterPath, columns: readonly string[], most: number): Sql {
  const name = compared(walk, path.column)
  const id = idOf(walk.collection)
  const by = path.endsWithId && name !== id ? `${name}, ${id}` : name
  const lead = sql`SELECT ${raw(columns.join(', '))} FROM ${table(walk)}`
  const part = (condition: Sql, sorted = sql` ORDER BY ${raw(by)}`): Sql => {
    const where = join([...whose(walk), condition], ' AND ')
    return bind(sql`${lead} WHERE ${where}${sorted} LIMIT ${raw(String(most))}`, walk)
  }
  const only = (value: Slot) => part(sql`${raw(name)} >= ${value} AND ${raw(name)} <= ${value}`)
  const [first] = path.filters
  if (first === undefined) {
    // Through another table the rows come from several ranges, in no order.
    return ownsDirectly(walk) ? only((other) => other.owner) : part(ownerIs(walk), empty)
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

/** The smallest of the ranges, where it has no more rows than this. */
async function smallestRange(reader: Reader, walk: Walk, most: number): Promise<Range | undefined> {
  let best: Range | undefined
  const id = idOf(walk.collection)
  for (const path of filterPaths(walk)) {
    const bound = best ? best.rows : most + 1
    const rows = await countOf(reader, rangeOf(walk, path, [id], bound))
    if (rows < bound) best = { path, rows }
  }
  return best
}

function rangeKeys(reader: Reader, walk: Walk, { path, rows }: Range): Promise<Value[][]> {
  const residual = residualOf(walk, path.filters)
  const ownerServed = path.filters.length === 0
  const columns = columnsFor(walk, residual, ownerServed)
  const examined = rangeOf(walk, path, columns, rows)
  const where = outside(walk, residual, ownerServed, behind(walk))
  return read(reader, keysIn(walk, examined, where, true))
}

// Along an index that has the order, or its beginning: until the page is full.

/** The walk inside the bound. */
function insideOf(walk: Walk, path: OrderPath, most: number): Walk {
  const filters = path.served.map((at) => walk.filters[at]!)
  const owner = ownsDirectly(walk) ? walk.owner : undefined
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
 * The keys of the page, or undefined where so many rows do not tell them. `within`: the range of
 * the only filter; entries of the index are then looked up in it, and no row is read.
 */
async function orderedKeys(
  reader: Reader,
  walk: Walk,
  path: OrderPath,
  most: number,
  within?: Range,
): Promise<Value[][] | undefined> {
  const inside = insideOf(walk, path, most)
  const examined = (columns: readonly string[]): Sql => {
    const narrow = { ...inside, columns: [...new Set([...namesOf(inside), ...columns])] }
    return bind(page(narrow), narrow)
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
    // Rows that tie with the last one examined lie beyond it; so does the end of the page.
    if (last !== undefined && last === (await valueAtPlace(walk.skip + walk.limit - 1))) return
  }
  if (path.order === 'none' && (await countOf(reader, examined([]))) === most) return
  const residual = within ? [] : residualOf(walk, path.served)
  const columns = columnsFor(walk, residual, ownsDirectly(walk))
  const at = path.order === 'full' ? empty : behind(walk)
  let where = outside(walk, residual, ownsDirectly(walk), at)
  if (within) {
    const ids = rangeOf(walk, within.path, [id], within.rows)
    const members = sql`SELECT ${raw(id)} FROM (${ids}) AS members`
    const inRange = sql`CASE WHEN ${raw(id)} IN (${members}) THEN 1 END = 1`
    where = sql` WHERE ${inRange}`
  }
  const keys = await read(reader, keysIn(walk, examined(columns), where, path.order !== 'full'))
  if (path.order === 'none') return keys
  if (path.order === 'first') {
    const full = keys.length === walk.limit && keys.at(-1)![0] !== last
    return last === undefined || full ? keys : undefined
  }
  if (keys.length === walk.limit) return keys
  return (await countOf(reader, examined([]))) < most ? keys : undefined
}

/**
 * The sort keys of the rows of a walk that no index serves alone. Throws `BeyondBounds` where that
 * takes more rows than allowed.
 */
export async function boundedKeys(
  reader: Reader,
  walk: Walk,
  bounds: ReadBounds,
): Promise<Key[][]> {
  const path = orderPath(walk)
  const most = walk.owner === undefined ? bounds.rows : bounds.ownRows
  const range = await smallestRange(reader, walk, most)
  if (range && range.rows <= bounds.smallRange)
    return (await rangeKeys(reader, walk, range)) as Key[][]
  // A person's rows are sorted in memory, or come in the order of the id (§7.9).
  const ordered = path.order === 'full' || (!range && walk.owner === undefined)
  if (ordered) {
    const within = range && isOnly(walk, path, range) ? range : undefined
    const rows = range && !within ? Math.min(range.rows, bounds.rows) : bounds.rows
    const keys = await orderedKeys(reader, walk, path, rows, within)
    if (keys) return keys as Key[][]
  }
  if (!range) throw new BeyondBounds('examined')
  return (await rangeKeys(reader, walk, range)) as Key[][]
}

/** Whether the range holds everything that the order's index does not. */
function isOnly(walk: Walk, path: OrderPath, range: Range): boolean {
  if (walk.collection.visible || walk.owner !== undefined || path.order !== 'full') return false
  const residual = residualOf(walk, path.served)
  return residual.every((at) => range.path.filters.includes(at))
}

/** How many rows the walk has, position aside. Throws `BeyondBounds`. */
export async function boundedCount(
  reader: Reader,
  walk: Walk,
  bounds: ReadBounds,
): Promise<number> {
  const most = bounds.counted
  const range = await smallestRange(reader, walk, most)
  if (range) {
    const residual = residualOf(walk, range.path.filters)
    const ownerServed = range.path.filters.length === 0 || walk.owner === undefined
    if (residual.length === 0 && ownerServed && !walk.collection.visible) return range.rows
    if (range.rows > bounds.rows) throw new BeyondBounds('counted')
    const columns = columnsFor(walk, residual, ownerServed)
    const examined = rangeOf(walk, range.path, columns, range.rows)
    const where = outside(walk, residual, ownerServed, empty)
    return countOf(reader, sql`SELECT 1 FROM (${examined}) AS examined${where}`)
  }
  const all = insideOf(walk, { order: 'none', served: [] }, most + 1)
  const residual = residualOf(walk, [])
  const columns = columnsFor(walk, residual, ownsDirectly(walk))
  const examined = (names: readonly string[]): Sql => {
    const narrow = { ...all, columns: names }
    return bind(page(narrow), narrow)
  }
  const rows = await countOf(reader, examined([idOf(walk.collection)]))
  if (rows > most) throw new BeyondBounds('counted')
  const where = outside(walk, residual, ownsDirectly(walk), empty)
  return countOf(reader, sql`SELECT 1 FROM (${examined(columns)}) AS examined${where}`)
}

/** Sizes of `IN` lists: few texts serve every page. */
const ID_LISTS = [8, 32, 128]

/** The rows of these ids, in their order. */
export async function rowsOfIds(
  reader: Reader,
  walk: Walk,
  ids: readonly Key[],
): Promise<Value[][]> {
  if (ids.length === 0) return []
  const size = ID_LISTS.find((one) => one >= ids.length)!
  const padded = [...ids, ...Array<Key>(size - ids.length).fill(ids.at(-1)!)]
  const names = walk.collection.columns.map((column) => column.name).join(', ')
  const id = idOf(walk.collection)
  const parts = walk.collection.scoped ? [sql`scope = ${walk.scope}`] : []
  const where = join([...parts, sql`${raw(id)} IN (${join(padded)})`], ' AND ')
  const rows = await read(reader, sql`SELECT ${raw(names)} FROM ${table(walk)} WHERE ${where}`)
  const byId = new Map(rows.map((row) => [row[0], row]))
  return ids.map((one) => byId.get(one)!)
}
