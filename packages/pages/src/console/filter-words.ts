/** Filters of a list as members of the page's URL. */
import type { Query } from '../api.ts'
import type { Filter, FilterWord } from '../parts/query-box.tsx'

/** Returns the filters of a URL. `prefix`: the beginning of their names in it. */
export const filtersOf = (
  query: URLSearchParams,
  words: readonly FilterWord[],
  prefix = '',
): readonly Filter[] =>
  words.flatMap(({ name }) => {
    const value = query.get(prefix + name)
    return value === null || value === '' ? [] : [{ name, value }]
  })

/** Returns the filters as parameters of a request, by their names or by those of `names`. */
export const parametersOf = (
  filters: readonly Filter[],
  names: Readonly<Record<string, string>> = {},
): Query => Object.fromEntries(filters.map(({ name, value }) => [names[name] ?? name, value]))

/** Returns the members of a URL for filters; words without a filter are removed. */
export const queryOf = (
  filters: readonly Filter[],
  words: readonly FilterWord[],
  prefix = '',
): Query =>
  Object.fromEntries(
    words.map(({ name }) => [prefix + name, filters.find((filter) => filter.name === name)?.value]),
  )
