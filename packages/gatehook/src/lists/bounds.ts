/** The bounds of a list request (§7.10, §7.9, §11.5), and the failures beyond them. Pure. */
import { Failure } from '../kernel/failure.ts'
import type { Collection } from './collection.ts'
import type { ListRequest } from './grammar.ts'
import { findFilterPaths, isExact } from './paths.ts'
import type { Walk } from './plan.ts'

/** Most rows that a list request examines. */
export const EXAMINED_ROWS_MAX = 50_000
/** Most rows of a person that are sorted in memory (§7.9). */
export const OWN_ROWS_MAX = 10_000
/** Most rows that a filtered total counts. */
export const COUNTED_ROWS_MAX = 100_000
/** Largest size of a page's items: 8 MiB less 64 KiB for the envelope and the links. */
export const PAGE_BYTES_MAX = 8 * 1024 * 1024 - 65_536

/** Limits of the reads of one attempt to answer a request. */
export interface ReadBounds {
  /** Examined rows. */
  readonly rows: number
  /** Examined rows when only the rows of one person are listed. */
  readonly ownRows: number
  /** A filter's range of at most this many rows is read at once; other indexes are not tried. */
  readonly smallRange: number
  /** Rows that a total counts. */
  readonly totalRows: number
  /** Rows that precede a numbered page. */
  readonly skippedRows: number
}

/** Bounds of a read beside other requests; a longer read runs in a separate walk. */
export const CONCURRENT_BOUNDS: ReadBounds = {
  rows: 400,
  ownRows: 400,
  smallRange: 400,
  totalRows: 2_000,
  skippedRows: 1_000,
}
/** Bounds of a separate walk. */
export const WALK_BOUNDS: ReadBounds = {
  rows: EXAMINED_ROWS_MAX,
  ownRows: OWN_ROWS_MAX,
  smallRange: 1_000,
  totalRows: COUNTED_ROWS_MAX,
  skippedRows: Number.POSITIVE_INFINITY,
}

/** An attempt would read more than its bounds allow. */
export class BoundsExceeded extends Error {
  readonly reason: 'examined' | 'counted'

  constructor(reason: 'examined' | 'counted') {
    super(`bug: a list that exceeds its bounds (${reason}) was not reported`)
    this.reason = reason
  }
}

/** Sorts or filters that a message names. */
const NAMED_MAX = 3

const formatNumber = (value: number): string => value.toLocaleString('en-US')

/** Creates `query_too_expensive`, which names the sorts and filters that an index serves. */
export function createTooExpensive(
  collection: Collection,
  request: ListRequest,
  owner: number | undefined,
  reason: BoundsExceeded['reason'],
): Failure {
  if (reason === 'counted') {
    const problem = `The total would count more than ${formatNumber(COUNTED_ROWS_MAX)} rows.`
    return createTooExpensiveFailure(
      'pagination',
      `${problem} Use the cursor style (pagination=cursor).`,
    )
  }
  const { filters, sort } = request
  const most = owner === undefined ? EXAMINED_ROWS_MAX : OWN_ROWS_MAX
  const problem = `The list would examine more than ${formatNumber(most)} rows.`
  const id = sort.at(-1)!
  const walkSortedBy = (column: string): Walk => ({
    collection,
    owner,
    filters,
    scope: 0,
    backward: false,
    anchor: undefined,
    inclusive: false,
    limit: 1,
    skip: 0,
    sort: column === id.column ? [id] : [{ column, descending: id.descending }, id],
  })
  const sorts = collection.sort.filter((column) => isExact(walkSortedBy(column)))
  const advice: string[] = []
  if (sorts.length > 0) advice.push(`sort by ${sorts.slice(0, NAMED_MAX).join(' or ')}`)
  const narrowing = collection.filter.filter(
    (column) =>
      column !== id.column &&
      !filters.some((filter) => filter.column === column) &&
      findFilterPaths({
        ...walkSortedBy(id.column),
        filters: [{ column, operator: 'eq', values: [0] }],
      }).some((path) => path.filters.length > 0),
  )
  if (narrowing.length > 0) advice.push(`filter by ${narrowing.slice(0, NAMED_MAX).join(' or ')}`)
  if (sorts.length === 0 && filters.length > 0) advice.push('leave out a filter')
  if (advice.length === 0) advice.push(`filter by a range of ${id.column}`)
  const [first, ...rest] = [advice.join(', or ')].join('')
  const parameter = sorts.length > 0 ? 'sort' : parameterOf(request)
  return createTooExpensiveFailure(parameter, `${problem} ${first!.toUpperCase()}${rest.join('')}.`)
}

function parameterOf({ filters }: ListRequest): string {
  const [filter] = filters
  if (!filter) return 'sort'
  return filter.operator === 'eq' ? filter.column : `${filter.column}[${filter.operator}]`
}

function createTooExpensiveFailure(parameter: string, message: string): Failure {
  const code = 'query_too_expensive'
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

/** Creates `page_too_large`, which names the number of rows that fit (§11.5). */
export function createPageTooLarge(request: ListRequest, fittingRows: number): Failure {
  const code = 'page_too_large'
  const parameter = request.style === 'offset' ? 'limit' : 'per_page'
  const message =
    `The page is larger than 8 MiB. Use ${parameter}=${fittingRows}, or the cursor style ` +
    '(pagination=cursor), whose pages end early.'
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}
