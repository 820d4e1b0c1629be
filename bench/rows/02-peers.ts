/**
 * Row 2: the list of row 1 beside other frameworks. Each returns the rows after one of about 10,000
 * ids, or one of the first 50 pages with the total, and requires a credential.
 */

import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'
import { gatehook } from '../contenders.ts'
import { BENCH_KEY, userOf } from '../data.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { directus, nest, platformatic, strapi } from '../peers/contenders.ts'
import { checkPage, firstUserId, get, PAGE_SIZE, pagesOf, shuffled, USERS } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const ROWS = 100_000
const STEP = 10
const PAGES = 50
const KEY = 'x-api-key'
const TOKEN = 'authorization'
const TOKEN_HEADERS = { [TOKEN]: `Bearer ${BENCH_KEY}`, accept: 'application/json' }

interface ExpectedRows {
  readonly after: number
  /** Undefined if the request needs no total. */
  readonly total?: number
}

/** The content of a response, in the same form for all peers. */
interface Page {
  readonly data: readonly Record<string, unknown>[]
  readonly total?: number
}

type Reads = (sample: Sample) => Page

const afters = shuffled(Array.from({ length: ROWS / STEP - 3 }, (_, n) => n * STEP))
const after = (target: (after: number) => string) => () =>
  afters.map((after) => get(target(after), { after }))
/** The same with the key as a bearer token. */
const afterWithToken = (target: (after: number) => string) => () =>
  after(target)().map((request): BenchRequest => ({ ...request, headers: TOKEN_HEADERS }))
const paged =
  (target: (page: number) => string, first: (url: string) => Promise<number>) =>
  async (url: string) => {
    const start = (await first(url)) - 1
    const expected = (n: number): ExpectedRows => ({ after: start + n * PAGE_SIZE, total: ROWS })
    return Array.from({ length: PAGES }, (_, n) => get(target(n + 1), expected(n)))
  }
const firstId = async () => 1

/** Some peers return `id` as text. `time` is the name of the creation time. */
const checkRows = (read: Reads, time: string) => (request: BenchRequest, sample: Sample) => {
  const expected = request.expected as ExpectedRows
  const { data, total } = read(sample)
  if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
  if (total !== expected.total) return `total ${total} instead of ${expected.total}`
  for (const [n, row] of data.entries()) {
    const id = expected.after + 1 + n
    const { name, email, createdAt } = userOf(id, false)
    const got = [Number(row.id), row.name, row.email, row[time]].join()
    const expectedRow = [id, name, email, isoTime(createdAt)].join()
    if (got !== expectedRow) return `${got} instead of ${expectedRow}`
  }
  return undefined
}

const inData: Reads = ({ body }) => JSON.parse(body) as Page
const bare: Reads = ({ body, head }) => {
  const total = /x-total-count: (\d+)/i.exec(head)
  return { data: JSON.parse(body), ...(total && { total: Number(total[1]) }) }
}

const users = ROWS
const sides: Side[] = [
  {
    name: 'gatehook',
    contender: gatehook({ users }),
    requests: (url) => pagesOf(url, { from: 0, to: ROWS, step: STEP }),
    credential: KEY,
    check: checkPage,
  },
  {
    name: 'NestJS + TypeORM',
    contender: nest(users),
    requests: after((id) => `/users?limit=${PAGE_SIZE}&after=${id}`),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'Platformatic DB',
    contender: platformatic(users),
    requests: after((id) => `/users/?limit=${PAGE_SIZE}&where.id.gt=${id}&orderby.id=asc`),
    credential: KEY,
    check: checkRows(bare, 'createdAt'),
  },
  {
    name: 'Strapi',
    contender: strapi(users),
    requests: afterWithToken((id) => {
      const fields = 'fields[0]=name&fields[1]=email&fields[2]=created'
      const limit = `pagination[limit]=${PAGE_SIZE}&pagination[withCount]=false`
      return `/api/members?${fields}&filters[id][$gt]=${id}&sort=id&${limit}`
    }),
    credential: TOKEN,
    check: checkRows(inData, 'created'),
  },
  {
    name: 'Directus',
    contender: directus(users),
    requests: afterWithToken((id) => {
      const fields = 'fields=id,name,email,created_at'
      return `/items/members?${fields}&filter[id][_gt]=${id}&sort=id&limit=${PAGE_SIZE}`
    }),
    credential: TOKEN,
    check: checkRows(inData, 'created_at'),
  },
]

const withTotals: Side[] = [
  {
    name: 'gatehook',
    contender: gatehook({ users }),
    requests: paged((page) => `${USERS}?page=${page}&per_page=${PAGE_SIZE}`, firstUserId),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'NestJS + TypeORM',
    contender: nest(users),
    requests: paged((page) => `/users?page=${page}&limit=${PAGE_SIZE}`, firstId),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'Platformatic DB',
    contender: platformatic(users),
    requests: paged((page) => {
      const offset = `limit=${PAGE_SIZE}&offset=${(page - 1) * PAGE_SIZE}`
      return `/users/?${offset}&orderby.id=asc&totalCount=true`
    }, firstId),
    credential: KEY,
    check: checkRows(bare, 'createdAt'),
  },
]

const facts = { durability: 'reads only', connections: 32, users }

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '2@pages',
    title: 'page of 20 that follows a row, about 10,000 ones, with a key, beside other servers',
    facts,
    sides,
    targets: [
      { of: 'gatehook', to: 'NestJS + TypeORM', least: 1.4 },
      { of: 'gatehook', to: 'Platformatic DB', least: 2.2 },
      { of: 'gatehook', to: 'Strapi', least: 60 },
      { of: 'gatehook', to: 'Directus', least: 50 },
    ],
  },
  {
    kind: 'load',
    name: '2@totals',
    title: 'pages 1 to 50 with their total, with a key, beside other servers',
    facts,
    sides: withTotals,
    targets: [{ of: 'gatehook', to: 'NestJS + TypeORM', least: 12 }],
  },
]
