/**
 * Finds the declared indexes that can serve a list (§7.10). Pure: it compares names only.
 * `bounded.ts` measures the cost of a path for the values of a request.
 */
import type { Collection } from './collection.ts'
import type { Filter } from './filter.ts'
import { columnOf, comparedColumn, hasOwnerColumn, type Walk } from './plan.ts'

/** An index that has the order of the list, or the order of its first sort key. */
export interface OrderPath {
  /**
   * `full`: rows come in the order of the list. `first`: in the order of the first sort key only.
   * `none`: no index has the order; all rows are read.
   */
  readonly order: 'full' | 'first' | 'none'
  /** Positions in `walk.filters` of the filters that the index applies. */
  readonly served: readonly number[]
}

/** The range of an index that the filters of one column select, in any order. */
export interface FilterPath {
  readonly column: string
  /** Positions in `walk.filters`; empty for the owner's column. */
  readonly filters: readonly number[]
  /** Whether index entries end with the id; those of a unique index do not. */
  readonly endsWithId: boolean
}

const RANGE = new Set(['eq', 'gt', 'gte', 'lt', 'lte'])

export const isEqual = ({ operator, values }: Filter): boolean =>
  operator === 'eq' || (operator === 'in' && values.length === 1)

export const idOf = (collection: Collection): string => collection.columns[0]!.name

const indexesOf = (collection: Collection): readonly (readonly string[])[] =>
  collection.indexes ?? [[idOf(collection)]]

/** Whether one index serves the walk, so that a page reads its own rows only. */
export function isExact(walk: Walk): boolean {
  if (walk.collection.visible !== undefined) return false
  if (walk.owner !== undefined && !hasOwnerColumn(walk)) return false
  const { order, served } = findOrderPath(walk)
  return order === 'full' && served.length === walk.filters.length
}

const rank = { full: 2, first: 1, none: 0 }

/** Returns the index that has most of the order, and then applies most filters. */
export function findOrderPath(walk: Walk): OrderPath {
  let best: OrderPath = { order: 'none', served: [] }
  for (const index of indexesOf(walk.collection)) {
    for (let prefix = 0; prefix < index.length; prefix++) {
      const path = pathAlongIndex(walk, index, prefix)
      if (!path) break
      const improvement =
        rank[path.order] - rank[best.order] || path.served.length - best.served.length
      if (improvement > 0) best = path
    }
  }
  return best
}

/** Returns the path along an index after `prefix` columns that equalities fix, or undefined. */
function pathAlongIndex(
  walk: Walk,
  index: readonly string[],
  prefix: number,
): OrderPath | undefined {
  const served: number[] = []
  let isOwnerApplied = walk.owner === undefined || !hasOwnerColumn(walk)
  for (const name of index.slice(0, prefix)) {
    const at = walk.filters.findIndex(
      (filter) => isEqual(filter) && comparedColumn(walk, filter.column) === name,
    )
    const isOwner = !isOwnerApplied && name === walk.collection.owner
    if (at < 0 && !isOwner) return undefined
    if (at >= 0) served.push(at)
    if (isOwner) isOwnerApplied = true
  }
  const order = isOwnerApplied ? orderOf(walk, index.slice(prefix)) : 'none'
  const first = walk.sort[0]!.column
  walk.filters.forEach((filter, at) => {
    const isBound = order !== 'none' && RANGE.has(filter.operator) && !served.includes(at)
    if (isBound && comparedColumn(walk, filter.column) === first) served.push(at)
  })
  return { order, served: order === 'none' ? [] : served }
}

/** Returns the part of the list's order that the remaining columns of an index have. */
function orderOf(walk: Walk, rest: readonly string[]): OrderPath['order'] {
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

/** Returns the columns, including the owner's, whose filters select a range of an index. */
export function findFilterPaths(walk: Walk): FilterPath[] {
  const paths = new Map<string, FilterPath>()
  const { collection } = walk
  const id = idOf(collection)
  const add = (column: string, name: string, filters: readonly number[]) => {
    const index = indexesOf(collection).find(
      (columns) =>
        columns[0] === name &&
        (columns.length === 1 || (columns.length === 2 && columns[1] === id)),
    )
    if (index) paths.set(column, { column, filters, endsWithId: index.length === 2 })
  }
  walk.filters.forEach(({ column, operator }, at) => {
    if (!RANGE.has(operator) && operator !== 'in') return
    // The bounds of one column form one range; `in` is separate.
    const existing = operator === 'in' ? undefined : paths.get(column)
    const canJoin = existing?.filters.every((place) => walk.filters[place]!.operator !== 'in')
    if (!existing || canJoin)
      add(column, comparedColumn(walk, column), [...(existing?.filters ?? []), at])
  })
  if (walk.owner !== undefined) add(collection.owner!, collection.owner!, [])
  return [...paths.values()]
}
