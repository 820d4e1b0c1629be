/**
 * Limits what the server fetches from addresses that clients choose: their documents (§16.4) and
 * key sets (§16.7). Each kind has a number for a host. Documents have one for a person and one in
 * all. Key sets have one for a customer instead, so that no customer uses up what others have: the
 * number of customers is the operator's.
 */
import type { Limiter } from '../../protocol/quota/limiter.ts'

const WINDOW_MS = 60_000
const FETCHES = { person: 10, host: 30, customer: 60, hostOfAll: 300, all: 120 } as const

/** Counts a fetch. Returns undefined if it is allowed, otherwise the wait in milliseconds. */
export type CountFetch = (fetched: {
  /** Kinds count apart: those in use apart from those that strangers name. */
  readonly kind: `${'used' | 'new'} ${'client document' | 'key set'}`
  readonly url: string
  /** Identifies the person who causes the fetch. */
  readonly person?: string | undefined
  /** Identifies the customer of the client, or all clients without one. */
  readonly customer?: string
}) => Promise<number | undefined>

export const createFetchBudget =
  (limiter: Limiter): CountFetch =>
  async ({ kind, url, person, customer }) => {
    const { hostname } = new URL(url)
    const keys =
      customer === undefined
        ? ['all', `host:${hostname}`]
        : [`host:${hostname} ${customer}`, `customer:${customer}`, `hostOfAll:${hostname}`]
    if (person !== undefined) keys.push(`person:${person}`)
    const limits = keys.map((key) => {
      const limit = FETCHES[key.split(':', 1)[0] as keyof typeof FETCHES]
      return { key: `${kind} ${key}`, rate: { limit, windowMs: WINDOW_MS } }
    })
    const { allowed, resetMs } = await limiter.take(limits)
    return allowed ? undefined : resetMs
  }
