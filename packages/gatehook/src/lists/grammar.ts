/**
 * The query of a list path, read strictly (§7.1, §7.3, §7.7): never clamped, never coerced. Pure:
 * query in, `ListRequest` out, or a `Failure` that names the parameter.
 */
import { parameterFailure, type Query, versionParameters } from '../http/query.ts'
import { Failure } from '../kernel/failure.ts'
import type { Collection, View } from './collection.ts'
import { columnNamed, type Filter, readFilter } from './filter.ts'

export type Style = 'offset' | 'cursor' | 'keyset' | 'page' | 'hypermedia'

export interface SortKey {
  readonly column: string
  readonly descending: boolean
}

export interface ListRequest {
  readonly style: Style
  /** Whether `pagination` was sent. */
  readonly named: boolean
  /** Rows on a page. */
  readonly limit: number
  /** Rows before the page: offset, page and hypermedia styles. */
  readonly offset: number
  /** 1-based: page and hypermedia styles. */
  readonly page: number
  readonly afterId: number | undefined
  /** Ends with the id. */
  readonly sort: readonly SortKey[]
  readonly filters: readonly Filter[]
  readonly fields: ReadonlySet<string> | undefined
  /** What links repeat: everything but the position and credentials. */
  readonly kept: readonly (readonly [name: string, value: string])[]
}

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100
const MAX_SORT_KEYS = 8

/** Parameters of each style. */
const families: Readonly<Record<Style, readonly string[]>> = {
  offset: ['offset', 'limit'],
  cursor: ['cursor', 'limit'],
  keyset: ['after_id', 'limit'],
  page: ['page', 'per_page'],
  hypermedia: ['page', 'per_page'],
}
/** Styles by the parameters that choose them; `limit` chooses none. */
const chosenBy: ReadonlyMap<string, Style> = new Map([
  ['offset', 'offset'],
  ['cursor', 'cursor'],
  ['after_id', 'keyset'],
  ['page', 'page'],
  ['per_page', 'page'],
])
const paging = new Set(Object.values(families).flat())
const shaping = new Set(['pagination', 'sort', 'fields'])
/** Read by other rooms on every path: credentials and versions. */
const elsewhere = new Set(['api_key', ...versionParameters])

const invalid = (parameter: string, what: string): Failure =>
  parameterFailure('invalid_parameter', parameter, what)

/** A decimal integer as §7.3 has it, within bounds; undefined where the parameter is not sent. */
function integer(query: Query, name: string, least: number, most: number): number | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  const value = /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) {
    throw invalid(name, `must be a whole number from ${least} to ${most}`)
  }
  return value
}

/** `cursor` is not read here: it is opaque, and whatever it says the rest means the same. */
export function parseListQuery(
  query: Query,
  collection: Collection,
  view: View,
  defaultStyle: Style,
): ListRequest {
  refuseRepeats(query)
  const style = chooseStyle(query, collection, defaultStyle)
  if (style === 'keyset' && !collection.integerId) {
    const parameter = query.has('after_id') ? 'after_id' : 'pagination'
    throw invalid(parameter, 'needs integer ids; use the cursor style here')
  }
  const byPage = style === 'page' || style === 'hypermedia'
  const limit = integer(query, byPage ? 'per_page' : 'limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT
  const page = integer(query, 'page', 1, Number.MAX_SAFE_INTEGER) ?? 1
  const offset = integer(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  const filters: Filter[] = []
  const kept: [string, string][] = []
  for (const [name, value] of query.entries) {
    if (paging.has(name) || name === 'api_key') continue
    kept.push([name, value])
    if (shaping.has(name) || elsewhere.has(name)) continue
    filters.push(readFilter(name, value, collection, view))
  }
  return {
    style,
    named: query.has('pagination'),
    limit,
    page,
    offset: byPage ? (page - 1) * limit : offset,
    afterId: integer(query, 'after_id', 0, Number.MAX_SAFE_INTEGER),
    sort: readSort(query.get('sort'), collection, view, style),
    filters,
    fields: readFields(query.get('fields'), view),
    kept,
  }
}

function refuseRepeats(query: Query): void {
  const repeated = query.repeated()
  if (repeated.length > 0) throw conflict(repeated, 'sent more than once')
}

function conflict(parameters: readonly string[], why: string): Failure {
  const code = 'pagination_conflict'
  return new Failure(code, `${parameters.join(', ')}: ${why}.`, {
    errors: parameters.map((parameter) => ({ parameter, code, message: why })),
  })
}

function chooseStyle(query: Query, collection: Collection, defaultStyle: Style): Style {
  const sent = query.entries.map(([name]) => name).filter((name) => paging.has(name))
  const foreignTo = (style: Style) => sent.filter((name) => !families[style].includes(name))
  const named = query.get('pagination')
  if (named !== undefined) {
    if (!Object.hasOwn(families, named)) {
      throw invalid('pagination', `must be one of ${Object.keys(families).join(', ')}`)
    }
    const foreign = foreignTo(named as Style)
    if (foreign.length === 0) return named as Style
    throw conflict(['pagination', ...foreign], `the ${named} style has other parameters`)
  }
  const [style, ...others] = new Set(sent.flatMap((name) => chosenBy.get(name) ?? []))
  if (style && (others.length > 0 || foreignTo(style).length > 0)) {
    throw conflict(sent, 'parameters of several pagination styles cannot be mixed')
  }
  if (style) return style
  // What the operator chose for requests that choose nothing gives way where it cannot serve them.
  const keysetServes = collection.integerId && !query.has('sort')
  const serves = foreignTo(defaultStyle).length === 0 && (defaultStyle !== 'keyset' || keysetServes)
  return serves ? defaultStyle : 'cursor'
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
      const names = view.fields.filter(sortable).join(', ')
      throw invalid('sort', `names "${name}", which is not one of ${names}`)
    }
    if (keys.some((key) => key.column === column)) throw invalid('sort', `names "${name}" twice`)
    keys.push({ column, descending })
  }
  if (keys.length > MAX_SORT_KEYS) throw invalid('sort', `takes at most ${MAX_SORT_KEYS} columns`)
  // The id settles every tie: what stands behind it says nothing. Where it is not named, it goes
  // the way of the key before it, so that one index serves both.
  const at = keys.findIndex((key) => key.column === id)
  if (at >= 0) keys.length = at + 1
  else keys.push({ column: id, descending: keys.at(-1)?.descending ?? false })
  if (style === 'keyset' && (keys.length > 1 || keys[0]!.descending)) {
    throw invalid('sort', 'goes with the cursor style; the keyset style walks the id upwards')
  }
  return keys
}

function readFields(text: string | undefined, view: View): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined
  const names = text.split(',')
  for (const name of names) {
    if (!view.fields.includes(name)) {
      throw invalid('fields', `names "${name}", which is not one of ${view.fields.join(', ')}`)
    }
  }
  return new Set(names)
}
