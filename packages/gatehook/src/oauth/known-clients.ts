/** Clients as the hot path reads them: cached for a second at most. */
import type { Clock } from '../kernel/clock.ts'
import { createLookupCache } from '../kernel/lookup-cache.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Database, Reader } from '../storage/database.ts'
import type { Client } from './client.ts'
import * as store from './client-store.ts'

/** What we make ourselves; nothing else is worth a look-up. */
const ID = /^client_[0-9A-Za-z]{22}$/

export interface KnownClients {
  /** At once where it is remembered. Undefined when there is none, or none any more. */
  find(id: string): Client | undefined | Promise<Client | undefined>
  /** The same inside a transaction, by its handle; what that sees is not remembered. */
  within(reader: Reader, id: string): Client | undefined | Promise<Client | undefined>
  /** Something was changed, on this node: the next to ask reads it. */
  forget(id: string): void
}

export function knownClients({ db, clock }: { db: Database; clock: Clock }): KnownClients {
  const known = createLookupCache({ load: (id: string) => load(db, id), clock })
  return {
    find: (id) => (ID.test(id) ? known.get(id) : undefined),
    within: (reader, id) => known.peek(id) ?? load(reader, id),
    forget: known.evict,
  }
}

async function load(from: Reader, id: string): Promise<Client | undefined> {
  const row = await store.findWithCustomer(from, id)
  if (!row) return undefined
  const secrets = row.public ? [] : await store.secretsOf(from, id)
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
