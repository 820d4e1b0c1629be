/**
 * The failures of a list request beyond its bounds (§7.10, §7.4, §11.5). Each message names an
 * alternative that the lists serve. Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import {
  type BoundsExceeded,
  COUNTED_ROWS_MAX,
  EXAMINED_ROWS_MAX,
  MAX_SKIPPED_ROWS,
  OWN_ROWS_MAX,
} from './bounds.ts'
import { type Collection, wireName } from './collection.ts'
import { parameterOf } from './filter.ts'
import type { ListRequest } from './grammar.ts'
import { findIndexRanges, isServedByIndex } from './page-plan.ts'
import type { Walk } from './walk.ts'

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
    terms: [],
    scope: 0,
    backward: false,
    anchor: undefined,
    inclusive: false,
    limit: 1,
    skip: 0,
    sort: column === id.column ? [id] : [{ column, descending: id.descending }, id],
  })
  const sorts = collection.sort.filter((column) => isServedByIndex(walkSortedBy(column)))
  const advice: string[] = []
  if (sorts.length > 0)
    advice.push(`sort by ${sorts.map(wireName).slice(0, NAMED_MAX).join(' or ')}`)
  const narrowingColumns = collection.filter.filter(
    (column) =>
      column !== id.column &&
      !filters.some((filter) => filter.column === column) &&
      findIndexRanges({
        ...walkSortedBy(id.column),
        filters: [{ column, operator: 'eq', values: [0] }],
      }).some((range) => range.filters.length > 0),
  )
  if (narrowingColumns.length > 0)
    advice.push(`filter by ${narrowingColumns.map(wireName).slice(0, NAMED_MAX).join(' or ')}`)
  if (sorts.length === 0 && filters.length > 0) advice.push('leave out a filter')
  if (advice.length === 0) advice.push(`filter by a range of ${id.column}`)
  const [first, ...rest] = [advice.join(', or ')].join('')
  const [filter] = request.filters
  const parameter = sorts.length > 0 || !filter ? 'sort' : parameterOf(filter)
  return createTooExpensiveFailure(parameter, `${problem} ${first!.toUpperCase()}${rest.join('')}.`)
}

function createTooExpensiveFailure(parameter: string, message: string): Failure {
  const code = 'query_too_expensive'
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

/**
 * Creates `page_too_large`, which names the number of rows that fit (§11.5). `expand`: whether the
 * page is larger because of expanded rows.
 */
export function createPageTooLarge(
  { style }: ListRequest,
  fittingRows: number,
  { expand = false } = {},
): Failure {
  const code = 'page_too_large'
  const parameter = style === 'page' || style === 'hypermedia' ? 'per_page' : 'limit'
  const other = expand
    ? 'expand fewer relations.'
    : 'the cursor style (pagination=cursor), whose pages end early.'
  const message = `The page is larger than 8 MiB. Use ${parameter}=${fittingRows}, or ${other}`
  return new Failure(code, message, { errors: [{ parameter, code, message }] })
}

/** Creates `offset_too_large` for a page far from both ends (§7.4). */
export function createTooDeep(request: ListRequest): Failure {
  const parameter = request.style === 'offset' ? 'offset' : 'page'
  const message =
    `The page is more than ${MAX_SKIPPED_ROWS} rows from both ends. ` +
    'Use the cursor style (pagination=cursor), where every page costs the same.'
  return new Failure('offset_too_large', message, {
    errors: [{ parameter, code: 'offset_too_large', message }],
  })
}
