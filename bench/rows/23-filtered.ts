/**
 * Row 23: a filter with a sort on a million rows, whatever share of them matches. Row 23r: the same
 * by fields of the rows to which a million rows refer (§15.9).
 */
import { gatehook } from '../contenders.ts'
import { userOf } from '../data.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { get, PAGE_SIZE, pagesOf, USERS, wholeList } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1_000_000
/** Pages exceed the page cache; all begin within this number of rows. */
const SPAN_ROWS = 1_500

interface ListedUser {
  readonly name: string
  readonly created_at: string
}

/** Pages of the rows that match a filter, in the order of another column. */
const filtered = (
  name: string,
  walk: { readonly query: string; readonly sort: string },
  isMatch: (user: ListedUser) => boolean,
): Side => ({
  name,
  contender,
  requests: (url) =>
    pagesOf(url, {
      sort: walk.sort,
      parameters: `&${walk.query}`,
      from: 0,
      to: SPAN_ROWS,
      step: PAGE_SIZE / 2,
    }),
  check(_, { body }) {
    const { data } = JSON.parse(body) as { data: ListedUser[] }
    if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
    return data.every(isMatch) ? undefined : 'a row does not match'
  },
})

const since =
  (instant: string) =>
  ({ created_at }: ListedUser) =>
    created_at >= instant

const checkEmpty = (_: BenchRequest, { body }: Sample): string | undefined =>
  (JSON.parse(body) as { data: unknown[] }).data.length === 0 ? undefined : 'a row matches'

const contender = gatehook({ users })

const sides: readonly Side[] = [
  filtered(
    'a seventieth',
    { query: 'name=Ada%20Turing', sort: 'email' },
    ({ name }) => name === 'Ada Turing',
  ),
  filtered(
    'nearly all rows',
    { query: 'created_at[gte]=2024-01-02T00:00:00.000Z', sort: 'name' },
    since('2024-01-02T00:00:00.000Z'),
  ),
  filtered(
    'the last 500th',
    { query: 'created_at[gte]=2025-11-24T00:00:00.000Z', sort: '-name' },
    since('2025-11-24T00:00:00.000Z'),
  ),
  {
    name: 'no row',
    contender,
    requests: () =>
      Array.from({ length: 500 }, (_, n) =>
        get(`${USERS}?limit=${PAGE_SIZE}&name=Nomen%20${n}&sort=-email`),
      ),
    check: checkEmpty,
  },
]

const ORDERS = '/api/v2/orders'
const related = gatehook({ users, orders: users, service: 'related' })

interface ListedOrder {
  readonly user_id: number
}

/** Pages of orders by fields of their users. */
const byUser = (
  name: string,
  walk: { readonly query?: string; readonly sort?: string },
  isValid: (names: readonly string[]) => boolean,
): Side => ({
  name,
  contender: related,
  requests: (url) =>
    pagesOf(url, {
      ...(walk.sort && { sort: walk.sort }),
      list: ORDERS,
      parameters: walk.query ? `&${walk.query}` : '',
      from: 0,
      to: SPAN_ROWS,
      step: PAGE_SIZE / 2,
    }),
  check(_, { body }) {
    const { data } = JSON.parse(body) as { data: ListedOrder[] }
    if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
    const isRight = isValid(data.map(({ user_id }) => userOf(user_id, false).name))
    return isRight ? undefined : 'the rows or their order are not those of the request'
  },
})

const isAscending = (names: readonly string[]): boolean =>
  names.every((name, n) => n === 0 || names[n - 1]! <= name)
const areOfAda = (names: readonly string[]): boolean => names.every((name) => name === 'Ada Turing')

const relatedSides: readonly Side[] = [
  byUser('a filter through a reference', { query: 'user.name=Ada%20Turing' }, areOfAda),
  byUser('a sort through a reference', { sort: 'user.name' }, isAscending),
  byUser(
    'a filter and a sort through a reference',
    { query: 'user.name=Ada%20Turing', sort: '-user.email' },
    areOfAda,
  ),
]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '23r',
    title: 'cursor page of 20 orders by fields of their users, against pages of the whole list',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [byUser('unfiltered', {}, () => true), ...relatedSides],
    targets: relatedSides.map(({ name }) => ({ of: 'unfiltered', to: name, most: 20 })),
  },
  {
    kind: 'load',
    name: '23',
    title: 'cursor page of 20 by one filter and one sort, against pages of the whole list',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [{ name: 'unfiltered', contender, ...wholeList(users) }, ...sides],
    targets: sides.map(({ name }) => ({ of: 'unfiltered', to: name, most: 20 })),
  },
]
