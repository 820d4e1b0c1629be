/** The member `list` of a resource: the fields by which lists are filtered and sorted. */

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
}

const isText = (value: unknown): value is string => typeof value === 'string'

const nameOf = (item: ListField<string>): string => (isText(item) ? item : item.field)

const isTuple = (item: ListOptions['sort'][number]): item is readonly string[] =>
  Array.isArray(item)

export function readListOptions({
  filter,
  prefix = [],
  contains = [],
  sort,
}: ListOptions): ListDeclaration {
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
  }
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
