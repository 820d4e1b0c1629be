/**
 * Which declared indexes can serve a list, and how well (§7.10). Pure: names in, names out; what a
 * path costs for the values at hand is measured in `bounded.ts`.
 */
import type { Collection } from './collection.ts'
import type { Filter } from './filter.ts'
import { columnOf, compared, ownsDirectly, type Walk } from './plan.ts'

/** A walk along an index that has the order of the list, or begins with it. */
export interface OrderPath {
  /**
   * `full`: rows come in the order of the list. `first`: in the order of the first sort key only.
   * `none`: no index has the order; all rows are read.
   */
  readonly order: 'full' | 'first' | 'none'
  /** Places in `walk.filters` of those the index holds; the others drop rows that were read. */
  readonly served: readonly number[]
}

/** A range of an index that one column's filters cut out, in any order of the list. */
export interface FilterPath {
  readonly column: string
  /** Places in `walk.filters`; none where the column is the owner. */
  readonly filters: readonly number[]
  /** Whether index entries end with the id; a unique index has no need. */
  readonly endsWithId: boolean
}

const RANGE = new Set(['eq', 'gt', 'gte', 'lt', 'lte'])

export const isEqual = ({ operator, values }: Filter): boolean =>
  operator === 'eq' || (operator === 'in' && values.length === 1)

export const idOf = (collection: Collection): string => collection.columns[0]!.name

const indexesOf = (collection: Collection): readonly (readonly string[])[] =>
  collection.indexes ?? [[idOf(collection)]]

/** Whether a page of this walk reads its own rows and no others. */
export function isExact(walk: Walk): boolean {
  if (walk.collection.visible !== undefined) return false
  if (walk.owner !== undefined && !ownsDirectly(walk)) return false
  const { order, served } = orderPath(walk)
  return order === 'full' && served.length === walk.filters.length
}

const rank = { full: 2, first: 1, none: 0 }

/** The path that has most of the order, then holds most of the filters. */
export function orderPath(walk: Walk): OrderPath {
  let best: OrderPath = { order: 'none', served: [] }
  for (const index of indexesOf(walk.collection)) {
    for (let prefix = 0; prefix < index.length; prefix++) {
      const path = alongIndex(walk, index, prefix)
      if (!path) break
      const better = rank[path.order] - rank[best.order] || path.served.length - best.served.length
      if (better > 0) best = path
    }
  }
  return best
}

/** The index with its first columns held by equalities; undefined where they are not. */
function alongIndex(walk: Walk, index: readonly string[], prefix: number): OrderPath | undefined {
  const served: number[] = []
  let owned = walk.owner === undefined || !ownsDirectly(walk)
  for (const name of index.slice(0, prefix)) {
    const at = walk.filters.findIndex((one) => isEqual(one) && compared(walk, one.column) === name)
    const isOwner = !owned && name === walk.collection.owner
    if (at < 0 && !isOwner) return undefined
    if (at >= 0) served.push(at)
    if (isOwner) owned = true
  }
  const order = owned ? orderOf(walk, index.slice(prefix)) : 'none'
  const first = walk.sort[0]!.column
  walk.filters.forEach((filter, at) => {
    const bounds = order !== 'none' && RANGE.has(filter.operator) && !served.includes(at)
    if (bounds && compared(walk, filter.column) === first) served.push(at)
  })
  return { order, served: order === 'none' ? [] : served }
}

/** How much of the list's order the rest of an index has. */
function orderOf(walk: Walk, rest: readonly string[]): OrderPath['order'] {
  const { sort } = walk
  if (rest[0] !== sort[0]!.column) return 'none'
  const complete =
    rest.length === sort.length && sort.every(({ column }, at) => rest[at] === column)
  if (!complete) return 'first'
  if (sort.length <= 2) return 'full' // against the index, too: see `acrossTies`
  const oneWay = sort.every(({ descending }) => descending === sort[0]!.descending)
  const nulls = sort.slice(1).some(({ column }) => columnOf(walk, column).nullable)
  return oneWay && !nulls ? 'full' : 'first'
}

/** Every column whose filters an index can cut out by itself; the owner's is one. */
export function filterPaths(walk: Walk): FilterPath[] {
  const paths = new Map<string, FilterPath>()
  const { collection } = walk
  const id = idOf(collection)
  const add = (column: string, name: string, filters: readonly number[]) => {
    const index = indexesOf(collection).find(
      (one) => one[0] === name && (one.length === 1 || (one.length === 2 && one[1] === id)),
    )
    if (index) paths.set(column, { column, filters, endsWithId: index.length === 2 })
  }
  walk.filters.forEach(({ column, operator }, at) => {
    if (!RANGE.has(operator) && operator !== 'in') return
    // Ranges of one column are one range; an equality and `in` stand for themselves.
    const known = operator === 'in' ? undefined : paths.get(column)
    const joins = known?.filters.every((one) => walk.filters[one]!.operator !== 'in')
    if (!known || joins) add(column, compared(walk, column), [...(known?.filters ?? []), at])
  })
  if (walk.owner !== undefined) add(collection.owner!, collection.owner!, [])
  return [...paths.values()]
}
