/**
 * Fetches and caches the documents of clients (§16.4). Requests of one URL share a fetch, failures
 * are not cached, and fetches are limited for a person, a host and in all. Documents of clients
 * that persons use have limits apart from those that strangers name.
 */

import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { FetchDocument } from '../../kernel/fetched-document.ts'
import type { Log } from '../../kernel/log.ts'
import { retryAfterS } from '../../kernel/time.ts'
import {
  allowsHost,
  type DocumentHosts,
  MAX_DOCUMENT_BYTES,
  parseDocumentId,
  readClientDocument,
} from './client-document.ts'
import type { ClientMetadata } from './client-metadata.ts'
import type { CountFetch } from './fetch-budget.ts'

const MIN_LIFETIME_MS = 5 * 60_000
const MAX_LIFETIME_MS = 24 * 3_600_000
const MAX_CACHED = 1_000

export interface ClientDocuments {
  /** Whether an id is the URL of a document that the server may read. */
  accepts(id: string): boolean
  /**
   * Returns the document, which it fetches unless it is cached. Undefined if it cannot be read or
   * is not valid: the log says why. Throws 429 `rate_limited`.
   *
   * @param person identifies the person who signed in
   * @param used whether a person has consented to the client
   */
  read(id: string, person: string | undefined, used: boolean): Promise<ClientMetadata | undefined>
  /** Whether the last fetch of the document of a used client failed. */
  hasFailed(id: string): boolean
}

interface DocumentDeps {
  /** The hosts that the operator allows. */
  readonly hosts: () => DocumentHosts
  readonly fetchDocument: FetchDocument
  readonly countFetch: CountFetch
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Log, 'warn'>
}

export function createClientDocuments(deps: DocumentDeps): ClientDocuments {
  const { hosts, fetchDocument, countFetch, clock, log } = deps
  const cache = new BoundedMap<string, { metadata: ClientMetadata; untilMs: number }>(MAX_CACHED)
  const failed = new BoundedMap<string, true>(MAX_CACHED)
  const pending = new Map<string, Promise<ClientMetadata | undefined>>()

  const accepts = (id: string): boolean => {
    const url = parseDocumentId(id)
    return url !== undefined && allowsHost(hosts(), url.hostname)
  }
  const peek = (id: string): ClientMetadata | undefined => {
    const entry = cache.get(id)
    return entry && entry.untilMs > clock.now() ? entry.metadata : undefined
  }
  const count = async (id: string, person: string | undefined, used: boolean): Promise<void> => {
    const kind = `${used ? 'used' : 'new'} client document` as const
    const waitMs = await countFetch({ kind, url: id, person })
    if (waitMs === undefined) return
    throw new Failure('rate_limited', 'Too many applications were looked up. Wait a minute.', {
      headers: { 'retry-after': String(retryAfterS(waitMs)) },
    })
  }
  const load = async (id: string, used: boolean): Promise<ClientMetadata | undefined> => {
    try {
      const { value, lifetimeMs } = await fetchDocument(id, MAX_DOCUMENT_BYTES)
      const metadata = readClientDocument(id, value)
      const clampedMs = Math.min(Math.max(lifetimeMs, MIN_LIFETIME_MS), MAX_LIFETIME_MS)
      cache.set(id, { metadata, untilMs: clock.now() + clampedMs })
      failed.delete(id)
      return metadata
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      if (used) failed.set(id, true)
      log.warn({ client_id: id, cause }, 'the document of a client could not be read')
      return undefined
    }
  }
  return {
    accepts,
    hasFailed: (id) => failed.get(id) === true,
    async read(id, person, used) {
      const cached = peek(id) ?? pending.get(id)
      if (cached) return cached
      const loading = count(id, person, used)
        .then(() => load(id, used))
        .finally(() => pending.delete(id))
      pending.set(id, loading)
      return loading
    },
  }
}
