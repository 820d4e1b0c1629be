/** The bounds of a list request (§7.10, §7.9, §11.5), and the failures beyond them. Pure. */
import { Failure } from '../kernel/failure.ts'
import type { Collection } from './collection.ts'
import type { ListRequest } from './grammar.ts'
import { filterPaths, isExact } from './paths.ts'
import type { Walk } from './plan.ts'

/** Rows that a list request examines at most. */
export const EXAMINED_ROWS_MAX = 50_000
/** Rows of a person that are sorted in memory at most (§7.9). */
export const OWN_ROWS_MAX = 10_000
/** Rows that a filtered total counts at most. */
export const COUNTED_ROWS_MAX = 100_000
/** A page's items, less what its envelope and links may take. */
export const PAGE_BYTES_MAX = 8 * 1024 * 1024 - 65_536

/** How much one attempt to answer a request may read. */
export interface ReadBounds {
  /** Rows examined. */
  readonly rows: number
  /** Rows of the person examined, where only theirs are listed. */
  readonly ownRows: number
  /** A filter's range of up to so many rows is read whole without a look at other indexes. */
  readonly smallRange: number
  /** Rows counted for a total. */
  readonly counted: number
  /** Rows passed over before a numbered page. */
  readonly skipped: number
}

/** What a list may read beside other requests; what needs more is a walk of its own. */
export const BESIDE_OTHERS: ReadBounds = {
  rows: 400,
  ownRows: 400,
  smallRange: 400,
  counted: 2_000,
  skipped: 1_000,
}
export const AT_MOST: ReadBounds = {
  rows: EXAMINED_ROWS_MAX,
  ownRows: OWN_ROWS_MAX,
  smallRange: 1_000,
  counted: COUNTED_ROWS_MAX,
  skipped: Number.POSITIVE_INFINITY,
}

/** Thrown where an attempt would read more than its bounds. */
export class BeyondBounds extends Error {
  readonly reason: 'examined' | 'counted'

  constructor(reason: 'examined' | 'counted') {
    super(`bug: a list beyond its bounds (${reason}) was not reported`)
    this.reason = reason
  }
}

/** Filters named as alternatives. */
const NAMED_MAX = 3

const number = (value: number): string => value.toLocaleString('en-US')

/** `query_too_expensive`, with the sorts and filters that an index serves. */
export function tooExpensive(
  collection: Collection,
  request: ListRequest,
  owner: number | undefined,
  reason: BeyondBounds['reason'],
): Failure {
  if (reason === 'counted') {
    const what = `The total would count more than ${number(COUNTED_ROWS_MAX)} rows.`
    return failure('pagination', `${what} Use the cursor style (pagination=cursor).`)
  }
  const { filters, sort } = request
  const most = owner === undefined ? EXAMINED_ROWS_MAX : OWN_ROWS_MAX
  const what = `The list would examine more than ${number(most)} rows.`
  const id = sort.at(-1)!
  const walkBy = (column: string): Walk => ({
    ...{ collection, owner, filters, scope: 0, backward: false, anchor: undefined },
    ...{ inclusive: false, limit: 1, skip: 0 },
    sort: column === id.column ? [id] : [{ column, descending: id.descending }, id],
  })
  const sorts = collection.sort.filter((column) => isExact(walkBy(column)))
  const advice: string[] = []
  if (sorts.length > 0) advice.push(`sort by ${sorts.slice(0, NAMED_MAX).join(' or ')}`)
  const narrowing = collection.filter.filter(
    (column) =>
      column !== id.column &&
      !filters.some((filter) => filter.column === column) &&
      filterPaths({
        ...walkBy(id.column),
        filters: [{ column, operator: 'eq', values: [0] }],
      }).some((path) => path.filters.length > 0),
  )
  if (narrowing.length > 0) advice.push(`filter by ${narrowing.slice(0, NAMED_MAX).join(' or ')}`)
  if (sorts.length === 0 && filters.length > 0) advice.push('leave out a filter')
  if (advice.length === 0) advice.push(`filter by a range of ${id.column}`)
  const [first, ...rest] = [advice.join(', or ')].join('')
  const parameter = sorts.length > 0 ? 'sort' : parameterOf(request)
  return failure(parameter, `${what} ${first!.toUpperCase()}${rest.join('')}.`)
}

function parameterOf({ filters }: ListRequest): string {
  const [filter] = filters
  if (!filter) return 'sort'
  return filter.operator === 'eq' ? filter.column : `${filter.column}[${filter.operator}]`
}

function failure(parameter: string, message: string): Failure {
  const code = 'query_too_expensive'
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

/** `page_too_large`, with the number of rows that fit (§11.5). */
export function pageTooLarge(request: ListRequest, fitting: number): Failure {
  const code = 'page_too_large'
  const parameter = request.style === 'offset' ? 'limit' : 'per_page'
  const message =
    `The page is larger than 8 MiB. Use ${parameter}=${fitting}, or the cursor style ` +
    '(pagination=cursor), whose pages end early.'
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}
