/**
 * Parses the query of a list request strictly, without clamping or coercion (§7.1, §7.3, §7.7).
 * Pure: returns a `ListRequest`, or throws a `Failure` that names the parameter.
 */

import { oneOfWords } from '../../kernel/closest.ts'
import { Failure } from '../../kernel/failure.ts'
import { idWords, isPrefixedId, type RowId } from '../../kernel/row-id.ts'
import { parameterFailure, type Query, versionParameters } from '../http/query.ts'
import type { Collection, View } from './collection.ts'
import { columnNamed, columnNames, type Filter, readFilter, readsWholeText } from './filter.ts'
import { readSearchTerms, SEARCH, type SearchTerm } from './search-term.ts'
import { readTextFilter } from './text-filter.ts'

export type Style = 'offset' | 'cursor' | 'keyset' | 'page' | 'hypermedia'

export interface SortKey {
  readonly column: string
  readonly descending: boolean
}

export interface ListRequest {
  readonly style: Style
  /** Whether the request contains `pagination`. */
  readonly isStyleExplicit: boolean
  readonly limit: number
  /** Rows before the page: offset, page and hypermedia styles. */
  readonly offset: number
  /** 1-based: page and hypermedia styles. */
  readonly page: number
  readonly afterId: RowId | undefined
  /** Ends with the id. */
  readonly sort: readonly SortKey[]
  readonly filters: readonly Filter[]
  readonly terms: readonly SearchTerm[]
  readonly fields: ReadonlySet<string> | undefined
  /** The parameters that links repeat: all except the position and credentials. */
  readonly linkParameters: readonly (readonly [name: string, value: string])[]
}

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100
const MAX_SORT_KEYS = 8
/** Filters of one request. A statement has a text of its own for each combination. */
export const FILTERS_MAX = 40
/** Of these, the ones that read a text from its start to its end: parts of texts, entries. */
export const PART_FILTERS_MAX = 5

/** Paging parameters of each style. */
const STYLE_PARAMETERS: Readonly<Record<Style, readonly string[]>> = {
  offset: ['offset', 'limit'],
  cursor: ['cursor', 'limit'],
  keyset: ['after_id', 'limit'],
  page: ['page', 'per_page'],
  hypermedia: ['page', 'per_page'],
}
/** The style that each parameter selects; `limit` selects none. */
const STYLE_BY_PARAMETER: ReadonlyMap<string, Style> = new Map([
  ['offset', 'offset'],
  ['cursor', 'cursor'],
  ['after_id', 'keyset'],
  ['page', 'page'],
  ['per_page', 'page'],
])
const PAGING_PARAMETERS = new Set(Object.values(STYLE_PARAMETERS).flat())
const SHAPING_PARAMETERS = new Set(['pagination', 'sort', 'fields'])
const LIST_PARAMETERS = [...PAGING_PARAMETERS, ...SHAPING_PARAMETERS]
/** Parameters that other modules read on every path: credentials and versions. */
const OTHER_PARAMETERS = new Set(['api_key', ...versionParameters])

const invalid = (parameter: string, problem: string): Failure =>
  parameterFailure('invalid_parameter', parameter, problem)

/** Reads a decimal integer from `min` to `max` (§7.3); undefined when absent. */
function readInteger(query: Query, name: string, min: number, max: number): number | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  const value = /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw invalid(name, `must be a whole number from ${min} to ${max}`)
  }
  return value
}

const canPageById = ({ integerId, columns }: Collection): boolean =>
  integerId === true || columns[0]?.idPrefix !== undefined

/** Reads an id, or the one before all others: 0, or zeros after the prefix. */
function readAfterId(query: Query, { columns }: Collection): RowId | undefined {
  const prefix = columns[0]?.idPrefix
  if (prefix === undefined) return readInteger(query, 'after_id', 0, Number.MAX_SAFE_INTEGER)
  const text = query.get('after_id')
  if (text !== undefined && !isPrefixedId(prefix, text)) {
    throw invalid('after_id', `must be ${idWords(prefix)}`)
  }
  return text
}

const PARAMETER_CODES: ReadonlySet<string> = new Set(['invalid_parameter', 'unknown_parameter'])
/** Mistakes that one response names: each takes a search for the name that was meant. */
const MISTAKES_MAX = 10

/** Reads parameters one after the other, and throws once for all mistakes, with the first code. */
function collectMistakes() {
  const failures: Failure[] = []
  const throwAll = () => {
    const [first] = failures
    if (first === undefined) return
    if (failures.length === 1) throw first
    throw new Failure(first.code, failures.map(({ message }) => message).join(' '), {
      errors: failures.flatMap(({ errors = [] }) => errors),
    })
  }
  return {
    throwAll,
    read<T>(read: () => T, otherwise: T): T {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof Failure) || !PARAMETER_CODES.has(error.code)) throw error
        failures.push(error)
        if (failures.length === MISTAKES_MAX) throwAll()
        return otherwise
      }
    },
  }
}

/** Parses all parameters except the value of `cursor`, which is opaque. */
export function parseListQuery(
  query: Query,
  collection: Collection,
  view: View,
  defaultStyle: Style,
): ListRequest {
  rejectRepeats(query)
  const style = chooseStyle(query, collection, defaultStyle)
  if (style === 'keyset' && !canPageById(collection)) {
    const parameter = query.has('after_id') ? 'after_id' : 'pagination'
    throw invalid(parameter, 'needs integer ids; use the cursor style here')
  }
  const hasPageNumber = style === 'page' || style === 'hypermedia'
  const { read, throwAll } = collectMistakes()
  const integer = (name: string, min: number, max: number) =>
    read(() => readInteger(query, name, min, max), undefined)
  const limit = integer(hasPageNumber ? 'per_page' : 'limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT
  const page = integer('page', 1, Number.MAX_SAFE_INTEGER) ?? 1
  const offset = integer('offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const filters: Filter[] = []
  const linkParameters: [string, string][] = []
  for (const [name, value] of query.entries) {
    if (PAGING_PARAMETERS.has(name) || name === 'api_key') continue
    linkParameters.push([name, value])
    if (SHAPING_PARAMETERS.has(name) || OTHER_PARAMETERS.has(name)) continue
    if (collection.parameters?.includes(name)) continue
    if (name === SEARCH && collection.wordTable !== undefined) continue
    filters.push(...read(() => filtersOf(name, value, collection, view), []))
    requireFewFilters(name, filters)
  }
  const rest = {
    afterId: read(() => readAfterId(query, collection), undefined),
    sort: read(() => readSort(query.get('sort'), collection, view, style), []),
    terms: read(() => readSearchTerms(query, collection), []),
    fields: read(() => readFields(query.get('fields'), view), undefined),
  }
  throwAll()
  return {
    ...rest,
    style,
    isStyleExplicit: query.has('pagination'),
    limit,
    page,
    offset: hasPageNumber ? (page - 1) * limit : offset,
    filters,
    linkParameters,
  }
}

const filtersOf = (name: string, value: string, collection: Collection, view: View) =>
  readTextFilter(name, value, collection, view) ?? [
    readFilter(name, value, collection, view, LIST_PARAMETERS),
  ]

function requireFewFilters(parameter: string, filters: readonly Filter[]): void {
  if (filters.length > FILTERS_MAX) {
    throw invalid(parameter, `is beyond the ${FILTERS_MAX} filters that a request may have`)
  }
  if (filters.filter(readsWholeText).length > PART_FILTERS_MAX) {
    const problem = `is beyond the ${PART_FILTERS_MAX} filters by a part of a text or by an entry`
    throw invalid(parameter, problem)
  }
}

function rejectRepeats(query: Query): void {
  const repeated = query.repeated()
  if (repeated.length > 0) throw createConflict(repeated, 'sent more than once')
}

function createConflict(parameters: readonly string[], reason: string): Failure {
  const code = 'pagination_conflict'
  return new Failure(code, `${parameters.join(', ')}: ${reason}.`, {
    errors: parameters.map((parameter) => ({ parameter, code, message: reason })),
  })
}

function chooseStyle(query: Query, collection: Collection, defaultStyle: Style): Style {
  const sent = query.entries.map(([name]) => name).filter((name) => PAGING_PARAMETERS.has(name))
  const foreignTo = (style: Style) => sent.filter((name) => !STYLE_PARAMETERS[style].includes(name))
  const explicitStyle = query.get('pagination')
  if (explicitStyle !== undefined) {
    if (!Object.hasOwn(STYLE_PARAMETERS, explicitStyle)) {
      const styles = Object.keys(STYLE_PARAMETERS)
      throw invalid('pagination', `must be ${oneOfWords(explicitStyle, styles)}`)
    }
    const foreign = foreignTo(explicitStyle as Style)
    if (foreign.length === 0) return explicitStyle as Style
    throw createConflict(
      ['pagination', ...foreign],
      `the ${explicitStyle} style has other parameters`,
    )
  }
  const [style, ...others] = new Set(sent.flatMap((name) => STYLE_BY_PARAMETER.get(name) ?? []))
  if (style && (others.length > 0 || foreignTo(style).length > 0)) {
    throw createConflict(sent, 'parameters of several pagination styles cannot be mixed')
  }
  if (style) return style
  // The default style does not apply to requests that it cannot serve.
  const canUseKeyset = canPageById(collection) && !query.has('sort')
  const canUseDefault =
    foreignTo(defaultStyle).length === 0 && (defaultStyle !== 'keyset' || canUseKeyset)
  return canUseDefault ? defaultStyle : 'cursor'
}

function readSort(
  text: string | undefined,
  collection: Collection,
  view: View,
  style: Style,
): SortKey[] {
  const id = collection.columns[0]!.name
  const keys: SortKey[] = []
  for (const part of text === undefined ? [] : text.split(',')) {
    const descending = part.startsWith('-')
    const name = descending ? part.slice(1) : part
    const column = columnNamed(name, view)
    if (column === undefined || !collection.sort.includes(column)) {
      const sortable = (field: string) => collection.sort.includes(columnNamed(field, view)!)
      const names = columnNames(view).filter(sortable)
      throw invalid('sort', `names "${name}", which is not ${oneOfWords(name, names)}`)
    }
    if (keys.some((key) => key.column === column)) throw invalid('sort', `names "${name}" twice`)
    keys.push({ column, descending })
  }
  if (keys.length > MAX_SORT_KEYS) throw invalid('sort', `takes at most ${MAX_SORT_KEYS} columns`)
  // The id is unique, so keys after it have no effect. An implicit id has the direction of the
  // key before it, so that one index serves both.
  const at = keys.findIndex((key) => key.column === id)
  if (at >= 0) keys.length = at + 1
  else keys.push({ column: id, descending: keys.at(-1)?.descending ?? false })
  if (style === 'keyset' && (keys.length > 1 || keys[0]!.descending)) {
    throw invalid('sort', 'requires the cursor style; the keyset style sorts by ascending id')
  }
  return keys
}

function readFields(text: string | undefined, view: View): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined
  const names = text.split(',')
  for (const name of names) {
    if (!view.fields.includes(name)) {
      throw invalid('fields', `names "${name}", which is not ${oneOfWords(name, view.fields)}`)
    }
  }
  return new Set(names)
}
