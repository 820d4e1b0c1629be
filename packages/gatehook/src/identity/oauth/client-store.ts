/** SQL of clients and their secrets. */

import { selectTargets } from '../../history/audit/reader.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { customerOf } from '../access/customer-reader.ts'
import type { CreatedCredential } from '../access/key-reader.ts'
import { matchesRedirectUri } from './redirect-uri.ts'

export interface ClientRow extends Row {
  readonly client_id: string
  readonly scope: number
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly name: string
  readonly redirect_uris: string
  readonly scopes: string
  readonly grant_types: string
  readonly public: number
  readonly require_client_auth_on_refresh: number
  /** Whether its tokens reach account endpoints (§4.5). */
  readonly first_party: number
  readonly created_at: number
}

const byId = prepareStatement(
  `SELECT client_id, scope, customer, mode, name, redirect_uris, scopes, grant_types, public,
   require_client_auth_on_refresh, first_party, created_at FROM gh_clients
   WHERE client_id = ? AND deleted_at IS NULL`,
)
const redirectUrisById = prepareStatement(
  'SELECT redirect_uris FROM gh_clients WHERE client_id = ? AND deleted_at IS NULL',
)

export const findClient = (from: Reader, id: string) => from.get<ClientRow>(byId([id]))
export const lockClient = (tx: Tx, id: string) => tx.lock<ClientRow>(byId([id]))
/**
 * Returns whether a client exists and has the redirect URI now, and prevents its change until the
 * transaction ends.
 */
export async function holdClientAt(tx: Tx, id: string, redirectUri: string): Promise<boolean> {
  const row = await tx.hold<Pick<ClientRow, 'redirect_uris'>>(redirectUrisById([id]))
  return row !== undefined && matchesRedirectUri(redirectUri, JSON.parse(row.redirect_uris))
}

interface ClientWithCustomerRow extends ClientRow {
  /** Whether the client's customer is suspended. */
  readonly suspended: number
}

export const findClientWithCustomer = (from: Reader, id: string) =>
  from.get<ClientWithCustomerRow>(sql`SELECT a.client_id, a.scope, a.customer, a.mode,
    a.name, a.redirect_uris, a.scopes, a.grant_types, a.public, a.require_client_auth_on_refresh,
    a.first_party, a.created_at, c.suspended
    FROM gh_clients a JOIN ${raw(customerOf('a.customer'))}
    WHERE a.client_id = ${id} AND a.deleted_at IS NULL`)

/** Returns the scope of a client, also of a deleted one. */
export const findClientScope = async (from: Reader, id: string): Promise<Scope | undefined> =>
  (await from.get(sql`SELECT scope FROM gh_clients WHERE client_id = ${id}`))?.scope

/** Returns the names of clients by their ids, also of deleted ones. */
export async function readClientNames(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.arrays(
    sql`SELECT client_id, name FROM gh_clients WHERE client_id IN (${join(list)})`,
  )
  return new Map(rows.map(([id, name]) => [String(id), String(name)]))
}

/** Lists the clients that an operator created and that are not deleted, the newest first. */
export const listClientsCreatedBy = (from: Reader, operator: string, limit: number) =>
  from.all<CreatedCredential>(sql`SELECT c.client_id AS id, c.name, c.customer, c.mode, c.scopes,
      a.at
    FROM ${selectTargets('client.create', operator)} AS a
    JOIN gh_clients c ON c.client_id = a.target
    WHERE c.deleted_at IS NULL ORDER BY a.id DESC LIMIT ${limit}`)

export async function countClients(from: Reader, scope: number): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM gh_clients
    WHERE scope = ${scope} AND deleted_at IS NULL`)
  return Number(row?.total)
}

export const insertClient = (tx: Tx, row: ClientRow) =>
  tx.run(sql`INSERT INTO gh_clients (client_id, scope, customer, mode, name, redirect_uris, scopes,
    grant_types, public, require_client_auth_on_refresh, first_party, created_at)
    VALUES (${row.client_id}, ${row.scope}, ${row.customer}, ${row.mode}, ${row.name},
            ${row.redirect_uris}, ${row.scopes}, ${row.grant_types}, ${row.public},
            ${row.require_client_auth_on_refresh}, ${row.first_party},
            ${row.created_at})`)

export const updateClient = (tx: Tx, row: ClientRow) =>
  tx.run(sql`UPDATE gh_clients SET name = ${row.name}, redirect_uris = ${row.redirect_uris},
    scopes = ${row.scopes}, grant_types = ${row.grant_types},
    require_client_auth_on_refresh = ${row.require_client_auth_on_refresh},
    first_party = ${row.first_party}
    WHERE client_id = ${row.client_id}`)

/** Marks a client as deleted. Its row stays, so that its id is never reused. */
export const markClientDeleted = (tx: Tx, id: string, now: number) =>
  tx.run(sql`UPDATE gh_clients SET deleted_at = ${now}
    WHERE client_id = ${id} AND deleted_at IS NULL`)

interface ClientSecretRow extends Row {
  readonly hash: Uint8Array
  readonly expires_at: number | null
}

export const listClientSecrets = (from: Reader, id: string) =>
  from.all<ClientSecretRow>(sql`SELECT hash, expires_at FROM gh_client_secrets
    WHERE client_id = ${id} ORDER BY created_at DESC`)
