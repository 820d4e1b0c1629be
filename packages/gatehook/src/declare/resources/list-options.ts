/** The member `list` of a resource: the fields by which lists are filtered and sorted. */
import { duplicatesIn } from '../../protocol/fields/declaration-mistakes.ts'

/** The path to a field of a row to which rows refer: `user.email`. */
export type RelatedPath = `${string}.${string}`

/** `index: false`: no index of its own serves the field. */
export type ListField<Name extends string> = Name | { readonly field: Name; readonly index: false }

export interface ListOptions {
  readonly filter: readonly ListField<string>[]
  readonly prefix?: readonly string[]
  readonly contains?: readonly string[]
  readonly sort: readonly (ListField<string> | readonly string[])[]
}

export interface ListDeclaration {
  readonly filter: readonly string[]
  /** The fields of `filter` that an index serves: all but those with `index: false`. */
  readonly filterIndexes: readonly string[]
  /** The texts that lists filter by their beginning, and by a part. */
  readonly prefix: readonly string[]
  readonly contains: readonly string[]
  /** Every field by which lists are sorted, including those of tuples. */
  readonly sort: readonly string[]
  /** Single fields and tuples that sort with an index: all but those with `index: false`. */
  readonly sortIndexes: readonly (readonly string[])[]
  /** Fields of rows to which rows refer, by their paths: `user.email` (§15.9). */
  readonly related: {
    readonly filter: readonly string[]
    readonly sort: readonly string[]
    /** The paths whose field has an index in its table, all but those with `index: false`. */
    readonly filterIndexes: readonly string[]
    readonly sortIndexes: readonly string[]
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

const nameOf = (item: ListField<string>): string => (isText(item) ? item : item.field)

const isTuple = (item: ListOptions['sort'][number]): item is readonly string[] =>
  Array.isArray(item)

const isPath = (item: ListOptions['sort'][number]): item is ListField<string> =>
  !isTuple(item) && nameOf(item).includes('.')

export function readListOptions(options: ListOptions): ListDeclaration {
  const { prefix = [], contains = [] } = options
  const filter = options.filter.filter((item) => !isPath(item))
  const sort = options.sort.filter((item) => !isPath(item))
  const [filterPaths, sortPaths] = [options.filter.filter(isPath), options.sort.filter(isPath)]
  const sortIndexes = sort.flatMap((item): (readonly string[])[] => {
    if (isTuple(item)) return [item]
    return isText(item) ? [[item]] : []
  })
  return {
    filter: [...new Set(filter.map(nameOf))],
    filterIndexes: filter.filter(isText),
    prefix,
    contains,
    sort: [...new Set(sort.flatMap((item) => (isTuple(item) ? item : nameOf(item))))],
    sortIndexes,
    related: {
      filter: [...new Set(filterPaths.map(nameOf))],
      sort: [...new Set(sortPaths.map(nameOf))],
      filterIndexes: filterPaths.filter(isText),
      sortIndexes: sortPaths.filter(isText),
    },
  }
}

/** Reports fields and tuples that a list of `list` names twice. */
export function findRepeatedListFields(options: ListOptions): string[] {
  const { filter, sort, prefix = [], contains = [] } = options
  const tuples = sort.filter(isTuple)
  const lists: Readonly<Record<string, readonly string[]>> = {
    filter: filter.map(nameOf),
    sort: sort.map((item) => (isTuple(item) ? `[${item.join(', ')}]` : nameOf(item))),
    prefix,
    contains,
  }
  const repeated = Object.entries(lists).flatMap(([list, names]) =>
    duplicatesIn(names).map((name) => `list.${list}: ${name} occurs twice`),
  )
  const inTuples = tuples.flatMap((tuple) =>
    duplicatesIn(tuple).map((name) => `list.sort: ${name} occurs twice in [${tuple.join(', ')}]`),
  )
  return [...repeated, ...inTuples]
}

/** Returns whether plain JavaScript declares a field, or one with `index: false`. */
export function isListField(value: unknown): boolean {
  if (isText(value)) return true
  if (typeof value !== 'object' || value === null) return false
  const { field, index } = value as { readonly field?: unknown; readonly index?: unknown }
  return isText(field) && index === false
}

/** Returns whether plain JavaScript declares an entry of `sort`. */
export const isSortField = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isText) : isListField(value)
