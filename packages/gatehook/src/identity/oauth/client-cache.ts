/** Reads clients, and caches them for at most a second. */
import type { Clock } from '../../kernel/clock.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import type { OauthClient } from './client.ts'
import * as store from './client-store.ts'

/** The format of ids that this server creates; it looks up no other text. */
const ID = /^client_[0-9A-Za-z]{22}$/

export interface ClientCache {
  /** Returns a client, synchronously if it is cached; undefined if it does not exist. */
  find(id: string): OauthClient | undefined | Promise<OauthClient | undefined>
  /** Returns the cached client, or reads it in a transaction. It caches no uncommitted row. */
  findIn(reader: Reader, id: string): OauthClient | undefined | Promise<OauthClient | undefined>
  /** Evicts a client that changed on this node. */
  evict(id: string): void
}

export function createClientCache({ db, clock }: { db: Database; clock: Clock }): ClientCache {
  const cache = createLookupCache({ load: (id: string) => readClient(db, id), clock })
  return {
    find: (id) => (ID.test(id) ? cache.get(id) : undefined),
    findIn: (reader, id) => cache.peek(id) ?? readClient(reader, id),
    evict: cache.evict,
  }
}

async function readClient(from: Reader, id: string): Promise<OauthClient | undefined> {
  const row = await store.findClientWithCustomer(from, id)
  if (!row) return undefined
  const secrets = row.public ? [] : await store.listClientSecrets(from, id)
  return {
    id,
    scope: row.scope as Scope,
    customer: row.customer,
    mode: row.mode,
    name: row.name,
    redirectUris: JSON.parse(row.redirect_uris),
    scopes: JSON.parse(row.scopes),
    grantTypes: JSON.parse(row.grant_types),
    isPublic: row.public !== 0,
    requireAuthOnRefresh: row.require_client_auth_on_refresh !== 0,
    secrets: secrets.map(({ hash, expires_at }) => ({
      hash,
      expiresAt: expires_at ?? Number.POSITIVE_INFINITY,
    })),
    suspended: row.suspended !== 0,
  }
}
