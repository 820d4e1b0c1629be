/** Requests rows have in common, and the checks of their answers. */
import { isoTime } from '../packages/gatehook/src/kernel/time.ts'
import { BENCH_KEY, userOf } from './data.ts'
import type { Sample } from './drive.ts'
import type { Ask } from './load.ts'

export const USERS = '/api/v2/users'
export const PAGE_SIZE = 20
const STRIDE = 100

const headers = { 'x-api-key': BENCH_KEY, accept: 'application/json' }

export const get = (target: string, known?: unknown): Ask => ({
  method: 'GET',
  target,
  headers,
  known,
})

export const post = (target: string, body: unknown, known?: unknown): Ask => ({
  method: 'POST',
  target,
  headers,
  body: JSON.stringify(body),
  known,
})

export const helloAsk = (): Ask => ({ method: 'GET', target: '/' })

export const checkHello = (_: Ask, { body }: Sample) =>
  body === '{"hello":"world"}' ? undefined : `not the hello: ${body}`

interface ListBody {
  data: { id: number }[]
  cursors: { next: string | null; prev: string | null }
  has_more: boolean
}

/** What a page must hold: the rows that follow `after`. */
interface KnownPage {
  readonly after: number
  readonly tied: boolean
}

export interface Walk {
  readonly sort?: string
  readonly tied?: boolean
  /** Pages are collected between these ranks of the list. */
  readonly from: number
  readonly to: number
  /** How many rows lie between two pages. */
  readonly step: number
}

/**
 * Cursors are opaque and signed, so the bench gets them as any client does: it walks the list.
 * Gives the pages' requests in an order that is shuffled and always the same.
 */
export async function pagesOf(url: string, walk: Walk): Promise<Ask[]> {
  const sort = walk.sort === undefined ? '' : `&sort=${walk.sort}`
  const asks: Ask[] = []
  let cursor = ''
  for (let rank = 0; rank < walk.to; ) {
    const size = rank < walk.from ? Math.min(STRIDE, walk.from - rank) : walk.step
    const list = await fetchJson(`${url}${USERS}?limit=${size}${sort}${cursor}`)
    rank += list.data.length
    if (list.cursors.next === null) break
    cursor = `&cursor=${encodeURIComponent(list.cursors.next)}`
    const known: KnownPage = { after: list.data.at(-1)!.id, tied: walk.tied ?? false }
    if (rank >= walk.from) {
      asks.push(get(`${USERS}?limit=${PAGE_SIZE}${sort}${cursor}`, known))
    }
  }
  // The last pages may be short of a full one.
  return shuffled(asks.slice(0, -Math.ceil(PAGE_SIZE / walk.step) - 1))
}

async function fetchJson(url: string): Promise<ListBody> {
  const response = await fetch(url, { headers })
  if (response.status !== 200) throw new Error(`GET ${url}: ${response.status}`)
  return (await response.json()) as ListBody
}

/** The id of the first user: sample data may hold smaller ones. */
export async function firstUserId(url: string): Promise<number> {
  return (await fetchJson(`${url}${USERS}?limit=1`)).data[0]!.id
}

export function checkPage({ known }: Ask, { body }: Sample): string | undefined {
  const { after, tied } = known as KnownPage
  const list = JSON.parse(body) as ListBody
  if (list.data.length !== PAGE_SIZE) return `${list.data.length} rows instead of ${PAGE_SIZE}`
  if (!list.has_more || typeof list.cursors.next !== 'string') return 'the walk ends too early'
  for (let n = 0; n < PAGE_SIZE; n++) {
    const wrong = differs(list.data[n], after + 1 + n, tied)
    if (wrong) return wrong
  }
  return undefined
}

/** `known`: the id. */
export function checkUser({ known }: Ask, { body }: Sample): string | undefined {
  return differs(JSON.parse(body), known as number, false)
}

function differs(row: unknown, id: number, tied: boolean): string | undefined {
  const { name, email, createdAt } = userOf(id, tied)
  const wanted = { id, name, email, created_at: isoTime(createdAt) }
  const got = row as Record<string, unknown>
  for (const [field, value] of Object.entries(wanted)) {
    if (got[field] !== value) return `${field} of user ${id} is ${got[field]} instead of ${value}`
  }
  return undefined
}

/** Mulberry32: the same numbers in every run, so that contenders and runs are asked the same. */
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
