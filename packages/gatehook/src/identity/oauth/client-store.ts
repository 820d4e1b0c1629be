/** SQL of clients and their secrets. */

import { selectTargets } from '../../history/audit/reader.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import {
  insertInto,
  join,
  prepareStatement,
  raw,
  type Sql,
  sql,
} from '../../platform/storage/sql.ts'
import { customerOf, selectOfCustomer } from '../access/customer-reader.ts'
import type { CreatedCredential, CreatedReading } from '../access/key-reader.ts'
import type { IdTokenAlgorithm } from '../tokens/id-token.ts'
import type { ClientSource, OauthClient } from './client.ts'
import { deleteConsentsAtClient } from './consent-store.ts'
import { readIssuerNames } from './issuer-store.ts'
import type { ClientKeys } from './key-set.ts'
import { matchesRedirectUri } from './redirect-uri.ts'

export interface ClientRow extends Row {
  readonly client_id: string
  /** 0 without a customer. */
  readonly scope: number
  readonly customer: string | null
  readonly mode: 'live' | 'test' | null
  readonly name: string
  readonly redirect_uris: string
  readonly scopes: string
  readonly grant_types: string
  readonly public: number
  /** A JSON object. */
  readonly jwks: string | null
  readonly jwks_uri: string | null
  readonly require_client_auth_on_refresh: number
  /** Whether its tokens reach account endpoints (§4.5). */
  readonly first_party: number
  readonly id_token_signed_response_alg: IdTokenAlgorithm
  /** `host`: a host whose documents are blocked. */
  readonly source: ClientSource | 'host'
  readonly blocked: number
  readonly used_at: number | null
  readonly created_at: number
}

/** The condition that the customer of a client, if it has one, exists and is not being deleted. */
const HAS_CUSTOMER = `(customer IS NULL OR ${selectOfCustomer('no', 'customer')} IS NOT NULL)`

const COLUMNS = [
  ...['client_id', 'scope', 'customer', 'mode', 'name', 'redirect_uris', 'scopes', 'grant_types'],
  ...['public', 'jwks', 'jwks_uri', 'require_client_auth_on_refresh', 'first_party'],
  ...['id_token_signed_response_alg', 'source', 'blocked', 'used_at', 'created_at'],
]

const byId = prepareStatement(
  `SELECT ${COLUMNS.join(', ')}
   FROM gh_clients WHERE client_id = ? AND deleted_at IS NULL AND ${HAS_CUSTOMER}`,
)
const redirectUrisById = prepareStatement(
  `SELECT redirect_uris FROM gh_clients
   WHERE client_id = ? AND deleted_at IS NULL AND blocked = 0 AND ${HAS_CUSTOMER}`,
)

export const lockClient = (tx: Tx, id: string) => tx.lock<ClientRow>(byId([id]))
/**
 * Returns whether a client exists, is not blocked and has the redirect URI now, and prevents its
 * change until the transaction ends.
 *
 * @param redirectUri undefined for a grant without one
 */
export async function holdClientAt(
  tx: Tx,
  id: string,
  redirectUri: string | undefined,
): Promise<boolean> {
  const [row] = await tx.hold<Pick<ClientRow, 'redirect_uris'>>(redirectUrisById([id]))
  if (!row || redirectUri === undefined) return row !== undefined
  return matchesRedirectUri(redirectUri, JSON.parse(row.redirect_uris))
}

/** Returns a client that nothing changes until the transaction ends; see `lockClient`. */
export const holdClient = async (tx: Tx, id: string): Promise<ClientRow | undefined> =>
  (await tx.hold<ClientRow>(byId([id])))[0]

interface ClientWithCustomerRow extends ClientRow {
  /** Whether the client's customer is suspended; null without a customer. */
  readonly suspended: number | null
}

/** Returns a client; undefined if it was deleted, or if its customer was or is being deleted. */
export const findClientWithCustomer = (from: Reader, id: string) =>
  from.get<ClientWithCustomerRow>(sql`SELECT
    ${raw(COLUMNS.map((name) => `a.${name}`).join(', '))}, c.suspended
    FROM gh_clients a LEFT JOIN ${raw(customerOf('a.customer'))}
    WHERE a.client_id = ${id} AND a.deleted_at IS NULL
      AND (a.customer IS NULL OR c.id IS NOT NULL)`)

/** Returns whether one of these rows, of clients or hosts, is blocked. */
export async function isBlocked(from: Reader, ids: readonly string[]): Promise<boolean> {
  const row = await from.get(sql`SELECT 1 AS found FROM gh_clients
    WHERE client_id IN (${join(ids)}) AND blocked = 1 LIMIT 1`)
  return row !== undefined
}

/** Returns the scope of a client, also of a deleted one; undefined without a customer. */
export const findClientScope = async (from: Reader, id: string): Promise<Scope | undefined> =>
  (await from.get(sql`SELECT scope FROM gh_clients WHERE client_id = ${id} AND scope > 0`))?.scope

/** Returns the names of clients by their ids, also of deleted ones, and of trusted issuers. */
export async function readClientNames(
  from: Reader,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.arrays(
    sql`SELECT client_id, name FROM gh_clients WHERE client_id IN (${join(list)})`,
  )
  const names = rows.map(([id, name]) => [String(id), String(name)] as const)
  return new Map([...names, ...(await readIssuerNames(from, list))])
}

/** Lists the clients that an operator created and that are not deleted, the newest first. */
export const listClientsCreatedBy = (from: Reader, operator: string, { limit }: CreatedReading) =>
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

export const insertClient = (tx: Tx, row: ClientRow) => tx.run(insertInto('gh_clients', row))

/** How long a client that registered itself exists without use (§16.5). */
const UNUSED_MS = 90 * 86_400_000
/** A client without customer that registered itself. */
const REGISTERED = `source = 'registration' AND scope = 0 AND deleted_at IS NULL`

export async function countRegistered(from: Reader): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM gh_clients WHERE ${raw(REGISTERED)}`)
  return Number(row?.total)
}

/** Notes that a client has got tokens. */
export const recordUse = (tx: Tx, id: string, now: number) =>
  tx.run(sql`UPDATE gh_clients SET used_at = ${now} WHERE client_id = ${id}`)

/** A registered client that no person has used. */
const NEVER_USED = raw(`${REGISTERED} AND used_at IS NULL`)
const unusedSince = (ms: number) =>
  sql`${raw(REGISTERED)} AND COALESCE(used_at, created_at) < ${ms}`

/** Returns the oldest registered client that no person has used; undefined if all were used. */
export const findOldestUnused = (from: Reader) =>
  from.get<{ client_id: string }>(sql`SELECT client_id FROM gh_clients
    WHERE ${NEVER_USED} ORDER BY created_at, client_id LIMIT 1`)

/** Lists registered clients that were not used for 90 days. */
export const listUnused = (from: Reader, now: number, limit: number) =>
  from.all<{ client_id: string }>(sql`SELECT client_id FROM gh_clients
    WHERE ${unusedSince(now - UNUSED_MS)} ORDER BY client_id LIMIT ${limit}`)

/** Deletes a registered client; false: a person has used it meanwhile. */
export const deleteNeverUsed = (tx: Tx, id: string): Promise<boolean> =>
  deleteClientWhere(tx, id, NEVER_USED)

/** Deletes a registered client; false: it was used within 90 days. */
export const deleteUnused = (tx: Tx, id: string, now: number): Promise<boolean> =>
  deleteClientWhere(tx, id, unusedSince(now - UNUSED_MS))

/** Deletes a client with its consents. Returns false if the condition does not hold any more. */
async function deleteClientWhere(tx: Tx, id: string, condition: Sql): Promise<boolean> {
  const client = sql`SELECT client_id FROM gh_clients WHERE client_id = ${id} AND ${condition}`
  if (!(await tx.lock(client))) return false
  await deleteConsentsAtClient(tx, id)
  await deleteClientRow(tx, id)
  return true
}

/** Deletes the row of a client; its id is random and never returns. */
async function deleteClientRow(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM gh_client_secrets WHERE client_id = ${id}`)
  await tx.run(sql`DELETE FROM gh_clients WHERE client_id = ${id}`)
}

/** Stores what the document of a client says now; a blocked client remains blocked. */
export const storeDocumentClient = (tx: Tx, client: OauthClient, now: number) => {
  const columns = authenticationColumns(client)
  return tx.run(sql`INSERT INTO gh_clients (client_id, name, redirect_uris, scopes, grant_types,
    public, jwks, jwks_uri, require_client_auth_on_refresh,
    id_token_signed_response_alg, source, created_at)
    VALUES (${client.id}, ${client.name}, ${JSON.stringify(client.redirectUris)}, '[]',
            ${JSON.stringify(client.grantTypes)}, ${columns.public}, ${columns.jwks},
            ${columns.jwks_uri}, ${columns.require_client_auth_on_refresh},
            ${client.idTokenAlgorithm ?? 'RS256'}, 'document', ${now})
    ON CONFLICT (client_id) DO UPDATE SET name = excluded.name,
      redirect_uris = excluded.redirect_uris, grant_types = excluded.grant_types,
      public = excluded.public, jwks = excluded.jwks, jwks_uri = excluded.jwks_uri,
      require_client_auth_on_refresh = excluded.require_client_auth_on_refresh,
      id_token_signed_response_alg = excluded.id_token_signed_response_alg`)
}

/** Returns the columns of how a client authenticates. */
export const authenticationColumns = ({
  isPublic,
  keys,
}: Pick<OauthClient, 'isPublic' | 'keys'>) => ({
  public: Number(isPublic),
  jwks: keys && 'jwks' in keys ? JSON.stringify(keys.jwks) : null,
  jwks_uri: keys && 'jwksUri' in keys ? keys.jwksUri : null,
  require_client_auth_on_refresh: Number(!isPublic),
})

export function keysOf({
  jwks,
  jwks_uri: jwksUri,
}: Pick<ClientRow, 'jwks' | 'jwks_uri'>): ClientKeys | undefined {
  if (jwks !== null) return { jwks: JSON.parse(jwks) }
  return jwksUri === null ? undefined : { jwksUri }
}

export const updateClient = (tx: Tx, row: ClientRow) =>
  runOne(
    tx,
    sql`UPDATE gh_clients SET name = ${row.name}, redirect_uris = ${row.redirect_uris},
    scopes = ${row.scopes}, grant_types = ${row.grant_types}, jwks = ${row.jwks},
    jwks_uri = ${row.jwks_uri},
    require_client_auth_on_refresh = ${row.require_client_auth_on_refresh},
    first_party = ${row.first_party},
    id_token_signed_response_alg = ${row.id_token_signed_response_alg}, blocked = ${row.blocked}
    WHERE client_id = ${row.client_id}`,
  )

/** Marks a client as deleted. Its row stays, so that its id is never reused. */
export const markClientDeleted = (tx: Tx, id: string, now: number) =>
  runOne(
    tx,
    sql`UPDATE gh_clients SET deleted_at = ${now}
    WHERE client_id = ${id} AND deleted_at IS NULL`,
  )

interface ClientSecretRow extends Row {
  readonly hash: Uint8Array
  readonly expires_at: number | null
}

export const listClientSecrets = (from: Reader, id: string) =>
  from.all<ClientSecretRow>(sql`SELECT hash, expires_at FROM gh_client_secrets
    WHERE client_id = ${id} ORDER BY created_at DESC`)
