/** Requests that several rows send, and the checks of their responses. */
import { isoTime } from '../packages/gatehook/src/kernel/time.ts'
import { BENCH_KEY, userOf } from './data.ts'
import type { Sample } from './drive.ts'
import type { BenchRequest } from './load.ts'

export const USERS = '/api/v2/users'
export const PAGE_SIZE = 20
const STRIDE = 100

const headers = { 'x-api-key': BENCH_KEY, accept: 'application/json' }

export const get = (target: string, expected?: unknown): BenchRequest => ({
  method: 'GET',
  target,
  headers,
  expected,
})

export const post = (target: string, body: unknown, expected?: unknown): BenchRequest => ({
  method: 'POST',
  target,
  headers,
  body: JSON.stringify(body),
  expected,
})

export const helloRequest = (): BenchRequest => ({ method: 'GET', target: '/' })

export const checkHello = (_: BenchRequest, { body }: Sample) =>
  body === '{"hello":"world"}' ? undefined : `not the hello: ${body}`

interface ListBody {
  data: { id: number }[]
  cursors: { next: string | null; prev: string | null }
  has_more: boolean
}

/** The rows that a page must contain: those after the id `after`. */
interface ExpectedPage {
  readonly after: number
  readonly tied: boolean
}

export interface Walk {
  /** Default: the users. */
  readonly list?: string
  readonly sort?: string
  /** Further parameters of each page: `&q=ada`. */
  readonly parameters?: string
  readonly tied?: boolean
  /** Pages are collected between these ranks of the list. */
  readonly from: number
  readonly to: number
  /** Number of rows between two pages. */
  readonly step: number
}

/** The requests of pages spread over a whole list of users, and their check. */
export const wholeList = (users: number) => ({
  requests: (url: string) => pagesOf(url, { from: 0, to: users, step: 100 }),
  check: checkPage,
})

/**
 * Walks the list to collect cursors, which are opaque and signed. Returns requests of pages,
 * shuffled, in the same order in every run.
 */
export async function pagesOf(url: string, walk: Walk): Promise<BenchRequest[]> {
  const { list: path = USERS, parameters = '' } = walk
  const sort = walk.sort === undefined ? parameters : `&sort=${walk.sort}${parameters}`
  const requests: BenchRequest[] = []
  let cursor = ''
  for (let rank = 0; rank < walk.to; ) {
    const size = rank < walk.from ? Math.min(STRIDE, walk.from - rank) : walk.step
    const list = await fetchJson(`${url}${path}?limit=${size}${sort}${cursor}`)
    rank += list.data.length
    if (list.cursors.next === null) break
    cursor = `&cursor=${encodeURIComponent(list.cursors.next)}`
    const expected: ExpectedPage = { after: list.data.at(-1)!.id, tied: walk.tied ?? false }
    if (rank >= walk.from) {
      requests.push(get(`${path}?limit=${PAGE_SIZE}${sort}${cursor}`, expected))
    }
  }
  // The last pages may have fewer rows.
  return shuffled(requests.slice(0, -Math.ceil(PAGE_SIZE / walk.step) - 1))
}

async function fetchJson(url: string): Promise<ListBody> {
  const response = await fetch(url, { headers })
  if (response.status !== 200) throw new Error(`GET ${url}: ${response.status}`)
  return (await response.json()) as ListBody
}

/** Returns the id of the first user of the key's mode; sample data may have smaller ids. */
export async function firstUserId(url: string): Promise<number> {
  return (await fetchJson(`${url}${USERS}?limit=1`)).data[0]!.id
}

export function checkPage({ expected }: BenchRequest, { body }: Sample): string | undefined {
  const { after, tied } = expected as ExpectedPage
  const list = JSON.parse(body) as ListBody
  if (list.data.length !== PAGE_SIZE) return `${list.data.length} rows instead of ${PAGE_SIZE}`
  if (!list.has_more || typeof list.cursors.next !== 'string') return 'the list ends too early'
  for (let n = 0; n < PAGE_SIZE; n++) {
    const difference = differenceOf(list.data[n], after + 1 + n, tied)
    if (difference) return difference
  }
  return undefined
}

/** `expected` is the id. */
export function checkUser({ expected }: BenchRequest, { body }: Sample): string | undefined {
  return differenceOf(JSON.parse(body), expected as number, false)
}

function differenceOf(row: unknown, id: number, tied: boolean): string | undefined {
  const { name, email, createdAt } = userOf(id, tied)
  const expected = { id, name, email, created_at: isoTime(createdAt) }
  const got = row as Record<string, unknown>
  for (const [field, value] of Object.entries(expected)) {
    if (got[field] !== value) return `${field} of user ${id} is ${got[field]} instead of ${value}`
  }
  return undefined
}

/** Mulberry32: the same numbers in every run and for every contender. */
export function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export function shuffled<T>(list: readonly T[]): T[] {
  const out = [...list]
  const random = seeded(1)
  for (let n = out.length - 1; n > 0; n--) {
    const other = Math.floor(random() * (n + 1))
    ;[out[n], out[other]] = [out[other]!, out[n]!]
  }
  return out
}
