/**
 * Clients as the hot path reads them: what the database said is remembered for a second at most,
 * so that every node follows a change within two (§3.10), and a busy client costs no look-ups.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Database } from '../storage/database.ts'
import type { Client } from './client.ts'
import * as store from './client-store.ts'

const FRESH_MS = 1000
const MAX_REMEMBERED = 10_000
/** What we make ourselves; nothing else is worth a look-up. */
const ID = /^client_[0-9A-Za-z]{22}$/

export interface KnownClients {
  /** Undefined when there is none, or none any more. */
  find(id: string): Promise<Client | undefined>
  /** Something was changed, on this node: the next to ask reads it. */
  forget(id: string): void
}

interface Entry {
  readonly client: Promise<Client | undefined>
  readonly loadedMs: number
}

export function knownClients({ db, clock }: { db: Database; clock: Clock }): KnownClients {
  const entries = new Map<string, Entry>()
  return {
    async find(id) {
      if (!ID.test(id)) return undefined
      const now = clock.elapsedMs()
      const known = entries.get(id)
      if (known && now - known.loadedMs < FRESH_MS) return known.client
      const entry = { client: load(db, id), loadedMs: now }
      entries.delete(id)
      entries.set(id, entry)
      if (entries.size > MAX_REMEMBERED) entries.delete(entries.keys().next().value!)
      try {
        const client = await entry.client
        if (!client && entries.get(id) === entry) entries.delete(id)
        return client
      } catch (error) {
        if (entries.get(id) === entry) entries.delete(id)
        throw error
      }
    },
    forget(id) {
      entries.delete(id)
    },
  }
}

async function load(db: Database, id: string): Promise<Client | undefined> {
  const row = await store.findWithCustomer(db, id)
  if (!row) return undefined
  const secrets = row.public ? [] : await store.secretsOf(db, id)
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
