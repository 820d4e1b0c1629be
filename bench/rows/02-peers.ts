/**
 * Row 2: the list of row 1 beside what others build it with. Each is asked in its own words for the
 * rows that follow one of about 10,000 ids, or for one of the first 50 pages with the total. Each
 * asks for a credential.
 */

import { isoTime } from '../../packages/gatehook/src/kernel/time.ts'
import { checkPage, firstUserId, get, PAGE_SIZE, pagesOf, shuffled, USERS } from '../asks.ts'
import { gatehook } from '../contenders.ts'
import { BENCH_KEY, userOf } from '../data.ts'
import type { Sample } from '../drive.ts'
import type { Ask } from '../load.ts'
import { directus, nest, platformatic, strapi } from '../peers/contenders.ts'
import type { LoadRow, Side } from '../row.ts'

const ROWS = 100_000
const STEP = 10
const PAGES = 50
const KEY = 'x-api-key'
const TOKEN = 'authorization'
const TOKEN_HEADERS = { [TOKEN]: `Bearer ${BENCH_KEY}`, accept: 'application/json' }

interface Known {
  readonly after: number
  /** Undefined: none was asked for. */
  readonly total?: number
}

/** What a peer's answer says, in one form. */
interface Page {
  readonly data: readonly Record<string, unknown>[]
  readonly total?: number
}

type Reads = (sample: Sample) => Page

const afters = shuffled(Array.from({ length: ROWS / STEP - 3 }, (_, n) => n * STEP))
const after = (target: (after: number) => string) => () =>
  afters.map((after) => get(target(after), { after }))
/** The same for those who look for the key where tokens are. */
const afterWithToken = (target: (after: number) => string) => () =>
  after(target)().map((ask): Ask => ({ ...ask, headers: TOKEN_HEADERS }))
const paged =
  (target: (page: number) => string, first: (url: string) => Promise<number>) =>
  async (url: string) => {
    const start = (await first(url)) - 1
    const known = (n: number): Known => ({ after: start + n * PAGE_SIZE, total: ROWS })
    return Array.from({ length: PAGES }, (_, n) => get(target(n + 1), known(n)))
  }
const one = async () => 1

/** `id` may be text where a peer is careful with large numbers; `time`: the member's name. */
const checkRows = (read: Reads, time: string) => (ask: Ask, sample: Sample) => {
  const known = ask.known as Known
  const { data, total } = read(sample)
  if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
  if (total !== known.total) return `total ${total} instead of ${known.total}`
  for (const [n, row] of data.entries()) {
    const id = known.after + 1 + n
    const { name, email, createdAt } = userOf(id, false)
    const got = [Number(row.id), row.name, row.email, row[time]].join()
    const wanted = [id, name, email, isoTime(createdAt)].join()
    if (got !== wanted) return `${got} instead of ${wanted}`
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
    asks: (url) => pagesOf(url, { from: 0, to: ROWS, step: STEP }),
    credential: KEY,
    check: checkPage,
  },
  {
    name: 'NestJS + TypeORM',
    contender: nest(users),
    asks: after((id) => `/users?limit=${PAGE_SIZE}&after=${id}`),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'Platformatic DB',
    contender: platformatic(users),
    asks: after((id) => `/users/?limit=${PAGE_SIZE}&where.id.gt=${id}&orderby.id=asc`),
    credential: KEY,
    check: checkRows(bare, 'createdAt'),
  },
  {
    name: 'Strapi',
    contender: strapi(users),
    asks: afterWithToken((id) => {
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
    asks: afterWithToken((id) => {
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
    asks: paged((page) => `${USERS}?page=${page}&per_page=${PAGE_SIZE}`, firstUserId),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'NestJS + TypeORM',
    contender: nest(users),
    asks: paged((page) => `/users?page=${page}&limit=${PAGE_SIZE}`, one),
    credential: KEY,
    check: checkRows(inData, 'created_at'),
  },
  {
    name: 'Platformatic DB',
    contender: platformatic(users),
    asks: paged((page) => {
      const offset = `limit=${PAGE_SIZE}&offset=${(page - 1) * PAGE_SIZE}`
      return `/users/?${offset}&orderby.id=asc&totalCount=true`
    }, one),
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
