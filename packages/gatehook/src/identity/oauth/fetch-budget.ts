/**
 * Limits what the server fetches from addresses that clients choose: their documents (§16.4) and
 * key sets (§16.7). Each kind has a number for a host and in all, documents one for a person, and
 * key sets one for a customer, so that no customer uses up what others have.
 */
import type { Limiter } from '../../protocol/quota/limiter.ts'

const WINDOW_MS = 60_000
const FETCHES = { person: 10, host: 30, customer: 60, hostOfAll: 60, all: 120 } as const

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
    const keys = ['all', `host:${[hostname, customer ?? []].flat().join(' ')}`]
    if (customer !== undefined) keys.push(`customer:${customer}`, `hostOfAll:${hostname}`)
    if (person !== undefined) keys.push(`person:${person}`)
    const limits = keys.map((key) => {
      const limit = FETCHES[key.split(':', 1)[0] as keyof typeof FETCHES]
      return { key: `${kind} ${key}`, rate: { limit, windowMs: WINDOW_MS } }
    })
    const { allowed, resetMs } = await limiter.take(limits)
    return allowed ? undefined : resetMs
  }
