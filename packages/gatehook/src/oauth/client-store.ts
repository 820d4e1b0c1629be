/** SQL of clients. Who may do what is not decided here. */
import type { Reader, Row, Tx } from '../storage/database.ts'
import { fixed, sql } from '../storage/sql.ts'

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
  /** Written by the operator; its tokens reach account endpoints (§4.5). */
  readonly first_party: number
  readonly created_at: number
}

const oneClient = fixed(
  `SELECT client_id, scope, customer, mode, name, redirect_uris, scopes, grant_types, public,
   require_client_auth_on_refresh, first_party, created_at FROM gh_clients
   WHERE client_id = ? AND deleted_at IS NULL`,
)
const liveClient = fixed(
  'SELECT 1 AS yes FROM gh_clients WHERE client_id = ? AND deleted_at IS NULL',
)

export const findClient = (from: Reader, id: string) => from.get<ClientRow>(oneClient([id]))
export const lockClient = (tx: Tx, id: string) => tx.lock<ClientRow>(oneClient([id]))
/** Whether it is there; it is not deleted before the transaction ends. */
export const holdClient = async (tx: Tx, id: string) =>
  (await tx.hold(liveClient([id]))) !== undefined

export interface LiveRow extends ClientRow {
  readonly suspended: number
}

/** A client with what its customer is. */
export const findWithCustomer = (from: Reader, id: string) =>
  from.get<LiveRow>(sql`SELECT a.client_id, a.scope, a.customer, a.mode, a.name, a.redirect_uris,
    a.scopes, a.grant_types, a.public, a.require_client_auth_on_refresh, a.first_party,
    a.created_at, c.suspended
    FROM gh_clients a JOIN gh_customers c ON c.id = a.customer
    WHERE a.client_id = ${id} AND a.deleted_at IS NULL`)

export async function countClientsOf(from: Reader, scope: number): Promise<number> {
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

/** Its row stays for the audit trail and the version ledger; its id never returns. */
export const markDeleted = (tx: Tx, id: string, now: number) =>
  tx.run(sql`UPDATE gh_clients SET deleted_at = ${now}
    WHERE client_id = ${id} AND deleted_at IS NULL`)

export interface SecretRow extends Row {
  readonly hash: Uint8Array
  readonly expires_at: number | null
}

export const secretsOf = (from: Reader, id: string) =>
  from.all<SecretRow>(sql`SELECT hash, expires_at FROM gh_client_secrets
    WHERE client_id = ${id} ORDER BY created_at DESC`)
