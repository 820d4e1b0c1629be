/** Row 23: a filter with a sort on a million rows, whatever share of them matches. */
import { gatehook } from '../contenders.ts'
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

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '23',
    title: 'cursor page of 20 by one filter and one sort, against pages of the whole list',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [{ name: 'unfiltered', contender, ...wholeList(users) }, ...sides],
    targets: sides.map(({ name }) => ({ of: 'unfiltered', to: name, most: 20 })),
  },
]
