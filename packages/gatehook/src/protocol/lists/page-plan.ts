/**
 * Plans a page, which index is read and how far, reads its keys, and counts its list (§7.10).
 *
 * 1. If one index has the order of the list and applies all filters, the page reads its own rows
 *    (`isServedByIndex`, then `page-query.ts`).
 * 2. Otherwise `planPage` counts the index ranges of the filters for the values of the request. The
 *    page reads a small range whole and sorts it.
 * 3. If no range is small, the page reads a bounded number of rows in the order of an index, within
 *    the smallest range if that applies all other filters. If they are not sufficient, it reads the
 *    smallest range.
 * 4. If that exceeds the bounds, `BoundsExceeded` makes `page.ts` repeat all with larger bounds, in
 *    a long read.
 *
 * Counts, not the planner of a database, select the index: both databases read the same rows.
 */
import type { Reader } from '../../platform/storage/database.ts'
import { BoundsExceeded, type ReadBounds } from './bounds.ts'
import { type Collection, indexKey, limitOf } from './collection.ts'
import type { Key } from './cursor.ts'
import {
  countAll,
  countInRange,
  countRange,
  type IndexOrder,
  type IndexRange,
  type MeasuredRange,
  otherFilters,
  readOrderedKeys,
  readRangeKeys,
} from './examined-rows.ts'
import { operatorRows } from './filter.ts'
import { canReadRelated, readRelatedKeys } from './related-order.ts'
import { filterBeside } from './related-range.ts'
import {
  canReadEntries,
  findOrderedEntries,
  type OrderedEntries,
  readEntryKeys,
} from './searched-rows.ts'
import {
  columnOf,
  comparedColumn,
  hasOwnerColumn,
  idOf,
  isEqual,
  orderColumns,
  type Walk,
} from './walk.ts'

/** Whether one index serves the walk, so that a page reads its own rows only. */
export function isServedByIndex(walk: Walk): boolean {
  if (walk.collection.visible !== undefined || walk.terms.length > 0) return false
  if (walk.owner !== undefined && !hasOwnerColumn(walk)) return false
  const { order, filters } = findIndexOrder(walk)
  return order === 'full' && filters.length === walk.filters.length
}

type PageAttempt =
  /** Reads a whole range and sorts it. */
  | { readonly kind: 'range'; readonly range: MeasuredRange }
  /** Reads at most `most` entries of a term, in the order of the id. */
  | { readonly kind: 'entries'; readonly entries: OrderedEntries; readonly most: number }
  /** Reads at most `most` rows in the order of a field of another table. */
  | { readonly kind: 'related'; readonly most: number }
  /** Reads at most `most` rows in the order of an index. */
  | {
      readonly kind: 'order'
      readonly index: IndexOrder
      readonly most: number
      /** The range of all filters that the index does not apply. */
      readonly within?: MeasuredRange
    }

/** Rows that are read first where each is a look-up in another table. */
const LOOKED_UP_ROWS = 2_000
/** Rows that are read before the range of a related field is counted. */
const EARLY_ROWS = 4_000
/** The same for each row of a large page, and the most. */
const EARLY_ROWS_EACH = 100
const EARLY_ROWS_MAX = 8_000
/** The same in the order of a field of another table, whose rows a filter selects. */
const EARLY_RELATED_ROWS = 20_000

type EarlyAttempt = Extract<PageAttempt, { readonly kind: 'related' | 'order' }>

/**
 * Returns the attempt that precedes the count of a related field's range, which looks up each row
 * of the range: a common value fills the page sooner in the order of the list, and a range of the
 * rows whose field sorts is read without the rows that refer to it. Later attempts examine fewer
 * rows by as many.
 */
function findEarlyAttempt(walk: Walk): EarlyAttempt | undefined {
  if (canReadRelated(walk) && filterBeside(walk) !== undefined) {
    return { kind: 'related', most: EARLY_RELATED_ROWS }
  }
  const index = findIndexOrder(walk)
  const isRelated = walk.filters.some(({ column }) => hasRelatedRange(walk, column))
  if (!isRelated || index.order !== 'full' || walk.owner !== undefined) return undefined
  const atLeast = Math.max(EARLY_ROWS, EARLY_ROWS_EACH * (walk.skip + walk.limit))
  return { kind: 'order', index, most: Math.min(atLeast, EARLY_ROWS_MAX) }
}

/** Returns the attempts to read a page that no index serves alone, the cheapest first. */
async function planPage(reader: Reader, walk: Walk, bounds: ReadBounds): Promise<PageAttempt[]> {
  const range = await findSmallestRange(
    reader,
    walk,
    walk.owner === undefined ? bounds.rows : bounds.ownRows,
  )
  const attempts: PageAttempt[] = range ? [{ kind: 'range', range }] : []
  if (range && range.rows <= bounds.smallRange) return attempts
  if (canReadEntries(walk)) {
    const terms = range?.term === undefined ? [...walk.terms.keys()] : [range.term]
    const entries = await findOrderedEntries(reader, walk, terms)
    if (entries) return [{ kind: 'entries', entries, most: bounds.rows }, ...attempts]
  }
  const related = canReadRelated(walk) ? ([{ kind: 'related', most: bounds.rows }] as const) : []
  const index = findIndexOrder(walk)
  // The rows of a person are sorted in memory, or read in the order of the id (§7.9).
  if (index.order !== 'full' && (range || walk.owner !== undefined)) {
    return [...related, ...attempts]
  }
  if (range && appliesOtherFilters(walk, index, range)) {
    return [{ kind: 'order', index, most: bounds.rows, within: range }, ...attempts]
  }
  const most = range ? Math.min(range.rows, bounds.rows) : bounds.rows
  const byIndex = (most: number) => ({ kind: 'order', index, most }) as const
  // A related field that sorts is a look-up of each row.
  const isLookedUp = walk.sort.slice(1).some(({ column }) => columnOf(walk, column).related)
  const few = isLookedUp && most > LOOKED_UP_ROWS ? [byIndex(LOOKED_UP_ROWS)] : []
  return [...related, ...few, byIndex(most), ...attempts]
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
  let { rows } = bounds
  const early = findEarlyAttempt(walk)
  if (early && early.most < rows) {
    const keys = await readKeysBy(reader, walk, early)
    if (keys) return keys
    rows -= early.most
  }
  for (const attempt of await planPage(reader, walk, { ...bounds, rows })) {
    const keys = await readKeysBy(reader, walk, attempt)
    if (keys) return keys
  }
  throw new BoundsExceeded('examined')
}

function readKeysBy(
  reader: Reader,
  walk: Walk,
  attempt: PageAttempt,
): Promise<Key[][] | undefined> {
  if (attempt.kind === 'range') return readRangeKeys(reader, walk, attempt.range)
  if (attempt.kind === 'entries') {
    return readEntryKeys(reader, walk, attempt.entries, attempt.most)
  }
  if (attempt.kind === 'related') return readRelatedKeys(reader, walk, attempt.most)
  return readOrderedKeys(reader, walk, attempt.index, attempt.most, attempt.within)
}

/** Counts the rows of a walk without its position. Throws `BoundsExceeded`. */
export async function countBounded(
  reader: Reader,
  walk: Walk,
  bounds: ReadBounds,
): Promise<number> {
  const range = await findSmallestRange(reader, walk, bounds.totalRows)
  if (!range) {
    const total = await countAll(reader, walk, bounds.totalRows)
    if (total === undefined) throw new BoundsExceeded('counted')
    return total
  }
  const isOwnerApplied = range.filters.length === 0 || walk.owner === undefined
  const isComplete =
    otherFilters(walk, range).length === 0 && isOwnerApplied && walk.terms.length === 0
  // The rows of a related range are the most of any of its tables.
  const isRelated = columnOf(walk, range.column)?.related !== undefined
  if (isComplete && !walk.collection.visible && !isRelated) return range.rows
  if (range.rows > bounds.rows) throw new BoundsExceeded('counted')
  return countInRange(reader, walk, range)
}

const TERM_RANGE = { column: '', filters: [], endsWithId: false }

/** Returns the smallest range if it has at most `most` rows. */
async function findSmallestRange(
  reader: Reader,
  walk: Walk,
  most: number,
): Promise<MeasuredRange | undefined> {
  let smallest: MeasuredRange | undefined
  const terms = walk.terms.map((_, term) => ({ ...TERM_RANGE, term }))
  const ranges = findIndexRanges(walk)
  // The person's rows bound the counts of the other ranges, which have rows of other persons.
  const own = ranges.splice(0, walk.owner === undefined ? 0 : 1)
  for (const range of [...own, ...terms, ...ranges]) {
    const bound = smallest ? smallest.rows : most + 1
    const rows = await countRange(reader, walk, range, bound)
    if (rows < bound) smallest = { ...range, rows }
  }
  return smallest
}

/** Whether the range applies all filters that the index of the order does not. */
function appliesOtherFilters(walk: Walk, index: IndexOrder, range: IndexRange): boolean {
  const { collection, owner, terms } = walk
  if (collection.visible || owner !== undefined || terms.length > 0) return false
  if (index.order !== 'full') return false
  return otherFilters(walk, index).every((at) => range.filters.includes(at))
}

function indexesOf(collection: Collection): readonly (readonly string[])[] {
  const { indexes = [[idOf(collection)]], missingIndexes } = collection
  if (!missingIndexes?.size) return indexes
  return indexes.filter((columns) => !missingIndexes.has(indexKey(columns)))
}

/** Operators that select one range of an index. */
const RANGE: ReadonlySet<string> = new Set([
  'eq',
  ...operatorRows.flatMap(([name, { isRange }]) => (isRange ? [name] : [])),
])

const rank = { full: 2, first: 1, none: 0 }

/** Returns the index with most of the order; of several, the one that applies most filters. */
function findIndexOrder(walk: Walk): IndexOrder {
  let best: IndexOrder = { order: 'none', filters: [] }
  for (const index of indexesOf(walk.collection)) {
    for (let prefix = 0; prefix < index.length; prefix++) {
      const candidate = orderAlongIndex(walk, index, prefix)
      if (!candidate) break
      const improvement =
        rank[candidate.order] - rank[best.order] || candidate.filters.length - best.filters.length
      if (improvement > 0) best = candidate
      if (best.order === 'full' && best.filters.length === walk.filters.length) return best
    }
  }
  return best
}

/** Returns the order of an index after `prefix` columns that equalities fix, or undefined. */
function orderAlongIndex(
  walk: Walk,
  index: readonly string[],
  prefix: number,
): IndexOrder | undefined {
  const filters: number[] = []
  let isOwnerApplied = walk.owner === undefined || !hasOwnerColumn(walk)
  for (const name of index.slice(0, prefix)) {
    const at = walk.filters.findIndex(
      (filter) => isEqual(filter) && comparedColumn(walk, filter.column) === name,
    )
    const isOwner = !isOwnerApplied && name === walk.collection.owner
    if (at < 0 && !isOwner) return undefined
    if (at >= 0) filters.push(at)
    if (isOwner) isOwnerApplied = true
  }
  const order = isOwnerApplied ? orderOf(walk, index.slice(prefix)) : 'none'
  const first = walk.sort[0]!.column
  walk.filters.forEach((filter, at) => {
    const isBound = order !== 'none' && RANGE.has(filter.operator) && !filters.includes(at)
    if (isBound && comparedColumn(walk, filter.column) === first) filters.push(at)
  })
  return { order, filters: order === 'none' ? [] : filters }
}

/** Returns the part of the list's order that the remaining columns of an index have. */
function orderOf(walk: Walk, rest: readonly string[]): IndexOrder['order'] {
  const { sort } = walk
  if (rest[0] !== sort[0]!.column) return 'none'
  const complete =
    rest.length === sort.length && sort.every(({ column }, at) => rest[at] === column)
  if (!complete) return 'first'
  if (sort.length <= 2) return 'full' // also against the index direction: see `acrossTies`
  const hasOneDirection = sort.every(({ descending }) => descending === sort[0]!.descending)
  const hasNulls = sort.slice(1).some(({ column }) => columnOf(walk, column).nullable)
  return hasOneDirection && !hasNulls ? 'full' : 'first'
}

/** Whether an index of another table selects rows by a related field, for this caller. */
function hasRelatedRange(walk: Walk, column: string): boolean {
  const { related } = columnOf(walk, column) ?? {}
  if (!related) return false
  const limits = related.steps.map((step) => limitOf(walk.collection, step))
  const isWhole = related.filterOrder !== undefined && limits.every((limit) => limit === 'all')
  return isWhole || limits.includes('none')
}

/** Whether the caller reads no row of a resource on the way to a related field. */
const isOutOfReach = (walk: Walk, column: string): boolean =>
  columnOf(walk, column)?.related?.steps.some(
    (step) => limitOf(walk.collection, step) === 'none',
  ) === true

/** Returns the columns whose filters select a range of an index, after that of the owner. */
export function findIndexRanges(walk: Walk): IndexRange[] {
  const ranges = new Map<string, IndexRange>()
  const { collection } = walk
  const ids = orderColumns(walk)
  const add = (column: string, name: string, filters: readonly number[]) => {
    if (hasRelatedRange(walk, column)) ranges.set(column, { column, filters, endsWithId: false })
    const index = indexesOf(collection).find(
      (columns) =>
        columns[0] === name &&
        (columns.length === 1 || indexKey(columns.slice(1)) === indexKey(ids)),
    )
    if (index) ranges.set(column, { column, filters, endsWithId: index.length > 1 })
  }
  if (walk.owner !== undefined) add(collection.owner!, collection.owner!, [])
  const isOwn = ranges.size > 0
  walk.filters.forEach(({ column, operator }, at) => {
    if (isOwn && column === collection.owner) return
    const isEmpty = isOutOfReach(walk, column)
    if (!RANGE.has(operator) && operator !== 'in' && !isEmpty) return
    // The bounds of one column form one range; `in` is separate.
    const existingRange = operator === 'in' ? undefined : ranges.get(column)
    const canJoin = existingRange?.filters.every((place) => walk.filters[place]!.operator !== 'in')
    if (!existingRange || canJoin)
      add(column, comparedColumn(walk, column), [...(existingRange?.filters ?? []), at])
  })
  return [...ranges.values()]
}
