/**
 * Clients as the hot path reads them: what the database said is remembered for a second at most,
 * so that every node follows a change within two (§3.10), and a busy client costs no look-ups.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Database, Reader } from '../storage/database.ts'
import type { Client } from './client.ts'
import * as store from './client-store.ts'

const FRESH_MS = 1000
const MAX_REMEMBERED = 10_000
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

interface Entry {
  readonly client: Client
  readonly loadedMs: number
}

export function knownClients({ db, clock }: { db: Database; clock: Clock }): KnownClients {
  const entries = new Map<string, Entry>()
  const flights = new Map<string, Promise<Client | undefined>>()

  const remembered = (id: string): Client | undefined => {
    const entry = entries.get(id)
    return entry && clock.elapsedMs() - entry.loadedMs < FRESH_MS ? entry.client : undefined
  }
  const look = async (id: string): Promise<Client | undefined> => {
    const loadedMs = clock.elapsedMs()
    const flight = load(db, id)
    flights.set(id, flight)
    try {
      const client = await flight
      // Forgotten meanwhile: right for those who wait, but not for later ones.
      if (flights.get(id) !== flight) return client
      entries.delete(id)
      if (client) entries.set(id, { client, loadedMs })
      if (entries.size > MAX_REMEMBERED) entries.delete(entries.keys().next().value!)
      return client
    } finally {
      if (flights.get(id) === flight) flights.delete(id)
    }
  }
  return {
    find(id) {
      if (!ID.test(id)) return undefined
      return remembered(id) ?? flights.get(id) ?? look(id)
    },
    within: (reader, id) => remembered(id) ?? load(reader, id),
    forget(id) {
      entries.delete(id)
      flights.delete(id)
    },
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
