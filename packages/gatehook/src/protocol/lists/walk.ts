/**
 * A walk through a list: which rows a page reads, in which order and direction, and from which
 * position. Pure data; `page.ts` creates it from a request.
 */
import type { Collection, ListColumn } from './collection.ts'
import type { Key } from './cursor.ts'
import type { Filter } from './filter.ts'
import type { SortKey } from './grammar.ts'
import type { SearchTerm } from './search-term.ts'

export interface Walk {
  readonly collection: Collection
  readonly scope: number
  /** The person whose rows are read; undefined: all rows (§6.7). */
  readonly owner: number | undefined
  readonly filters: readonly Filter[]
  /** The beginnings of words that each row has (§7.12). */
  readonly terms: readonly SearchTerm[]
  /** The sort keys; the id is the last, or the order of commits in its place. */
  readonly sort: readonly SortKey[]
  /** Whether the walk runs towards the beginning of the order. */
  readonly backward: boolean
  readonly anchor: readonly Key[] | undefined
  /** Whether the page includes the anchor's row. */
  readonly inclusive: boolean
  readonly limit: number
  /** Rows that precede the first returned row. */
  readonly skip: number
  /** The selected columns; default: all columns of the collection. */
  readonly columns?: readonly string[]
  /** Instead of an anchor: the first value of the first sort key, including ties. */
  readonly from?: Key
}

export const idOf = (collection: Collection): string => collection.columns[0]!.name

/** Returns the columns that order rows which tie in the columns before, in each index. */
export const orderColumns = ({ collection }: Pick<Walk, 'collection'>): readonly string[] =>
  collection.commits?.columns ?? [idOf(collection)]

export const columnOf = (walk: Walk, name: string): ListColumn =>
  walk.collection.columns.find((column) => column.name === name)!

/** Whether the walk is in the order of commits. */
export const isInCommitOrder = ({ collection: { commits }, sort }: Walk): boolean =>
  commits !== undefined && sort[0]!.column === commits.columns[0]

export const isDescending = (walk: Walk, key: SortKey): boolean => key.descending !== walk.backward

/** Returns the names of the selected columns: those of the table, and related ones that sort. */
export const selectedColumns = (walk: Walk): readonly string[] =>
  walk.columns ??
  walk.collection.columns
    .filter(({ name, related }) => !related || walk.sort.some(({ column }) => column === name))
    .map(({ name }) => name)

/** Whether a column of the table has the id of a row's person: an index then finds the rows. */
export const hasOwnerColumn = ({ collection }: Walk): boolean =>
  (collection.ownerThrough ?? []).length === 0

/**
 * Returns the column that filters compare: e-mail addresses are folded (§4.8). The owner's column
 * may be absent from the listed columns.
 */
export const comparedColumn = (walk: Walk, column: string): string =>
  walk.collection.columns.find(({ name }) => name === column)?.folded ?? column

export const isEqual = ({ operator, values }: Filter): boolean =>
  operator === 'eq' || (operator === 'in' && values.length === 1)
