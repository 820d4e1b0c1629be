/** The words of the filter of requests, and the parameters of the API that they mean. */
import type { Query } from '../../api.ts'
import type { Filter, FilterWord } from '../../parts/query-box.tsx'
import type { RequestRow } from '../api-shapes.ts'
import { customerWord } from '../customer-names.ts'
import type { KeyName } from '../key-names.ts'
import { parseInstant } from '../ranges.ts'

interface RequestWord extends FilterWord {
  /** The parameter of `GET /admin/requests`; undefined: the name of the word. */
  readonly parameter?: string
}

const STATUS = /^([1-5]xx|[1-5]\d\d|none)(,([1-5]xx|[1-5]\d\d|none))*$/
const TOOK = /^(>=|<=|>|<)?(\d{1,9})(ms)?$/
const OPERATORS: Readonly<Record<string, string>> = {
  '>': '[gt]',
  '>=': '[gte]',
  '<': '[lt]',
  '<=': '[lte]',
}

const expects = (pattern: RegExp, hint: string) => (value: string) =>
  pattern.test(value) ? undefined : `It must be ${hint}.`

const expectsInstant = (value: string) =>
  Number.isNaN(parseInstant(value)) ? 'It must be a date, or a date and a time.' : undefined

/** The words, with the versions that the service has, and the newest keys. */
export const requestWords = (
  versions: readonly string[],
  keys: readonly KeyName[] = [],
): readonly RequestWord[] => [
  {
    name: 'status',
    hint: '403, 4xx, or 403,429',
    values: ['2xx', '3xx', '4xx', '5xx', '401', '403', '404', '409', '422', '429', 'none'],
    check: expects(STATUS, 'a status (403), a class (4xx) or none'),
  },
  { name: 'error', hint: 'an error code', values: ERRORS },
  { name: 'route', hint: 'a template: /api/…/:id' },
  { name: 'path', hint: 'the beginning of a path' },
  {
    name: 'method',
    hint: 'GET, POST, …',
    values: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'],
  },
  customerWord('customer'),
  {
    name: 'key',
    hint: 'a key: its id, its name, or the end of its secret',
    values: keys.map(({ id, name, hint }) => ({ value: id, label: `${name} ${hint}` })),
    parameter: 'key_id',
  },
  { name: 'client', hint: 'the id of a client', parameter: 'client_id' },
  { name: 'version', hint: 'v1, v2', values: versions },
  { name: 'took', hint: '>100ms', values: ['>100ms', '>1000ms'], check: expects(TOOK, '>100ms') },
  {
    name: 'warnings',
    hint: 'true: the response has warnings',
    values: ['true', 'false'],
    check: expects(/^(true|false)$/, 'true or false'),
  },
  { name: 'object', hint: 'a collection and an id: …/4187' },
  { name: 'id', hint: 'the id of a request' },
  { name: 'ip', hint: 'an address' },
  { name: 'from', hint: '2026-11-24T14:00 (UTC)', check: expectsInstant },
  { name: 'to', hint: '2026-11-24T14:30 (UTC)', check: expectsInstant },
]

/** Returns the filters that are not the range of time. */
export const withoutTime = (filters: readonly Filter[]): readonly Filter[] =>
  filters.filter(({ name }) => name !== 'from' && name !== 'to')

const ERRORS = [
  'insufficient_scope',
  'invalid_api_key',
  'unauthorized',
  'invalid_token',
  'validation_failed',
  'invalid_state',
  'not_found',
  'conflict',
  'rate_limited',
  'api_version_retired',
  'internal_error',
]

/** Returns the parameters of the API. */
export function parametersOf(filters: readonly Filter[], words: readonly RequestWord[]): Query {
  const entries = filters.map(({ name, value }) => {
    if (name === 'took') {
      const [, operator, ms] = TOOK.exec(value) ?? []
      return [`took_ms${OPERATORS[operator ?? ''] ?? ''}`, ms] as const
    }
    return [words.find((word) => word.name === name)?.parameter ?? name, value] as const
  })
  return Object.fromEntries(entries)
}

/** Parameters of the stream; it returns more rows than match, and `matches` selects. */
const IN_STREAM = new Set(['customer', 'key', 'error', 'warnings'])

export const streamFilters = (filters: readonly Filter[]): Query =>
  Object.fromEntries(
    filters
      .filter(({ name, value }) => IN_STREAM.has(name) && !value.includes(','))
      .map(({ name, value }) => [name === 'key' ? 'key_id' : name, value]),
  )

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
}

/** Kinds of callers whose id is that of a client, or of an issuer. */
const OF_CLIENTS: ReadonlySet<string | undefined> = new Set(['client', 'workload'])

/** The members of a row that a word compares with; status, path and duration are special. */
const MEMBERS: Readonly<Record<string, (row: RequestRow) => string | null | undefined>> = {
  error: ({ error }) => error,
  route: ({ route }) => route,
  method: ({ method }) => method,
  customer: ({ customer }) => customer,
  key: ({ credential }) => (credential?.kind === 'key' ? credential.id : null),
  client: ({ credential }) => (OF_CLIENTS.has(credential?.kind) ? credential!.id : null),
  version: ({ version }) => version,
  object: ({ object }) => object,
  warnings: ({ warnings }) => String(warnings > 0),
  id: ({ id }) => id,
  ip: ({ ip }) => ip,
}

function matchesStatus(status: number | null, value: string): boolean {
  if (status === null) return value === 'none'
  return value === String(status) || value === `${Math.floor(status / 100)}xx`
}

/** Returns whether a row of the stream matches every filter, as the list would. */
export const matches = (row: RequestRow, filters: readonly Filter[]): boolean =>
  filters.every(({ name, value }) => {
    const values = value.split(',')
    if (name === 'status') return values.some((text) => matchesStatus(row.status, text))
    if (name === 'path') return row.path.startsWith(value)
    if (name === 'took') {
      const [, operator = '', ms] = TOOK.exec(value) ?? []
      return COMPARE[operator]?.(row.took_ms, Number(ms)) ?? row.took_ms === Number(ms)
    }
    return values.includes(MEMBERS[name]?.(row) ?? '')
  })

/** Filters of which the series has the same, so that the histogram is exact. */
const IN_SERIES: Readonly<Record<string, string>> = {
  customer: 'customer',
  key: 'key',
  version: 'version',
}

/** The filters of the histogram, and whether they are all of them. */
export function seriesFilters(filters: readonly Filter[]): { words: Query; isExact: boolean } {
  const own = filters.filter(({ name }) => name in IN_SERIES)
  return {
    words: Object.fromEntries(own.map(({ name, value }) => [IN_SERIES[name], value])),
    isExact: own.length === filters.length,
  }
}
