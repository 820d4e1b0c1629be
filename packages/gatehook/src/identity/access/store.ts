/** SQL of customers and keys. */
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import { assignments, insertInto, raw, sql } from '../../platform/storage/sql.ts'
import { INSTALLATION_SCOPES } from './administration.ts'
import { selectOfCustomer } from './customer-reader.ts'
import { apiKeys } from './tables.ts'

/**
 * The condition that a key has no scope of the installation: customers do not see such keys. Scopes
 * are a JSON array of names without quotes: a text without a quoted name is the same text. `LIKE`
 * would read the underscore of a name as a wildcard.
 */
export const WITHOUT_INSTALLATION_SCOPES = INSTALLATION_SCOPES.map(
  (scope) => `replace(scopes, '"${scope}"', '') = scopes`,
).join(' AND ')

interface CustomerRow extends Row {
  readonly no: number
  readonly id: string
  readonly name: string
  readonly contact_email: string | null
  readonly external_id: string | null
  readonly suspended: number
  readonly limits: string
  readonly created_at: number
}

/** The columns of a key that the code names. */
export interface KeyRow extends Row {
  readonly id: string
  readonly scope: number
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly name: string
  readonly scopes: string
  readonly cidrs: string
  readonly api_version: string | null
  readonly hint: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly last_used_at: number | null
}

export const customerById = (id: string) =>
  sql`SELECT no, id, name, contact_email, external_id, suspended, limits, created_at
    FROM gh_customers WHERE id = ${id} AND deleting_since IS NULL`

export const findCustomer = (from: Reader, id: string) => from.get<CustomerRow>(customerById(id))
export const lockCustomer = (tx: Tx, id: string) => tx.lock<CustomerRow>(customerById(id))

/** Returns false if the id exists already. Throws for an external id of another customer. */
export async function insertCustomer(
  tx: Tx,
  row: Pick<CustomerRow, 'id' | 'name' | 'contact_email' | 'external_id' | 'created_at'>,
): Promise<boolean> {
  const count = await tx.run(sql`${insertInto('gh_customers', row)} ON CONFLICT (id) DO NOTHING`)
  return count === 1
}

export const updateCustomer = (
  tx: Tx,
  row: Pick<CustomerRow, 'id' | 'name' | 'contact_email' | 'external_id' | 'suspended' | 'limits'>,
) =>
  runOne(
    tx,
    sql`UPDATE gh_customers SET name = ${row.name},
    contact_email = ${row.contact_email}, external_id = ${row.external_id},
    suspended = ${row.suspended}, limits = ${row.limits} WHERE id = ${row.id}`,
  )

interface DeletionRow extends Row {
  readonly no: number
  readonly id: string
  readonly deleting_since: number | null
  readonly deleted_rows: number
}

/** Locks a customer, also one whose rows are being deleted. */
export const lockDeletion = (tx: Tx, id: string) =>
  tx.lock<DeletionRow>(sql`SELECT no, id, deleting_since, deleted_rows FROM gh_customers
    WHERE id = ${id}`)

/** Ends the credentials of a customer, whose rows a job then deletes. */
export const beginDeletion = (tx: Tx, no: number, now: number) =>
  runOne(
    tx,
    sql`UPDATE gh_customers SET deleting_since = ${now}, deleted_rows = 0 WHERE no = ${no}`,
  )

/** Adds to the count of deleted rows, with the next statement of the transaction. */
export const countDeleted = (tx: Tx, no: number, rows: number): void =>
  tx.runLater(sql`UPDATE gh_customers SET deleted_rows = deleted_rows + ${rows}
    WHERE no = ${no} AND deleting_since IS NOT NULL`)

/** Deletes the row of a customer, once it has no other. Returns the count of deleted rows. */
export const endDeletion = (tx: Tx, no: number) =>
  tx.get<{ id: string; deleted_rows: number }>(sql`DELETE FROM gh_customers
    WHERE no = ${no} AND deleting_since IS NOT NULL RETURNING id, deleted_rows`)

const KEY_COLUMNS = Object.keys(apiKeys.columns)

/** The columns by which a statement finds a key: its scope, then its id. */
type KeyPlace = Pick<KeyRow, 'scope' | 'id'>

/**
 * Locks a key that is not revoked, by its id; `gh_api_key_secrets` leads to its scope. A customer
 * that is being deleted has no keys.
 */
export async function lockKey(tx: Tx, id: string): Promise<KeyRow | undefined> {
  const place = await tx.get(sql`SELECT scope FROM gh_api_key_secrets WHERE key_id = ${id} LIMIT 1`)
  if (!place) return undefined
  return tx.lock<KeyRow>(sql`SELECT ${raw(KEY_COLUMNS.join(', '))} FROM gh_api_keys
    WHERE scope = ${place.scope} AND id = ${id} AND revoked_at IS NULL
      AND ${raw(selectOfCustomer('no', 'customer'))} IS NOT NULL`)
}

export const insertKey = (tx: Tx, row: KeyRow) => tx.run(insertInto('gh_api_keys', row))

export const setHint = (tx: Tx, { scope, id }: KeyPlace, hint: string) =>
  runOne(tx, sql`UPDATE gh_api_keys SET hint = ${hint} WHERE scope = ${scope} AND id = ${id}`)

/** Stores cells of the settings of a key, of which there may be none. */
export async function updateKey(tx: Tx, { scope, id }: KeyPlace, cells: Row): Promise<void> {
  if (Object.keys(cells).length === 0) return
  await runOne(
    tx,
    sql`UPDATE gh_api_keys SET ${assignments(cells)}
    WHERE scope = ${scope} AND id = ${id}`,
  )
}

export const markRevoked = (tx: Tx, { scope, id }: KeyPlace, now: number) =>
  runOne(
    tx,
    sql`UPDATE gh_api_keys SET revoked_at = ${now}
    WHERE scope = ${scope} AND id = ${id} AND revoked_at IS NULL`,
  )

/** Stores the time of a use, unless another node has stored one after `beforeMs`. */
export const updateLastUse = (tx: Tx, { scope, id }: KeyPlace, now: number, beforeMs: number) =>
  tx.run(sql`UPDATE gh_api_keys SET last_used_at = ${now}
    WHERE scope = ${scope} AND id = ${id}
    AND (last_used_at IS NULL OR last_used_at <= ${beforeMs})`)

/** Counts the keys that are not revoked, of all customers, up to a bound. */
export async function countKeys(from: Reader, most: number): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total
    FROM (SELECT 1 FROM gh_api_keys WHERE revoked_at IS NULL LIMIT ${most}) AS counted`)
  return Number(row?.total)
}

export async function countKeysIn(from: Reader, scope: number): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM gh_api_keys
    WHERE scope = ${scope} AND revoked_at IS NULL`)
  return Number(row?.total)
}

/** Returns whether `scope` has a key, or a revoked key, that holds `scopeName`. */
export async function hasEverHadKey(
  from: Reader,
  scope: number,
  scopeName?: string,
): Promise<boolean> {
  // The text changes if it has the name; LIKE would take `_` for any character.
  const holds =
    scopeName === undefined ? sql`1 = 1` : sql`replace(scopes, ${`"${scopeName}"`}, '') <> scopes`
  const row = await from.get(
    sql`SELECT id FROM gh_api_keys WHERE scope = ${scope} AND ${holds} LIMIT 1`,
  )
  return row !== undefined
}

export interface VerificationRow extends Row {
  readonly id: string
  readonly name: string
  readonly scope: number
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly scopes: string
  readonly cidrs: string
  readonly api_version: string | null
  readonly expires_at: number | null
  readonly secret_expires_at: number | null
  readonly secret_created_at: number
  readonly last_used_at: number | null
  readonly suspended: number
  readonly limits: string
  readonly external_id: string | null
  readonly revoked_at: number | null
}

/** Returns the scope and id of the key with a secret of this hash; they never change. */
export async function findKeyByHash(from: Reader, hash: Uint8Array): Promise<KeyPlace | undefined> {
  const row = await from.get<{ scope: number; key_id: string }>(
    sql`SELECT scope, key_id FROM gh_api_key_secrets WHERE hash = ${hash}`,
  )
  return row && { scope: row.scope, id: row.key_id }
}

/** Returns the columns that verify a key, also a revoked one, by the hash of its secret. */
export const findVerification = (from: Reader, { scope, id }: KeyPlace, hash: Uint8Array) =>
  from.get<VerificationRow>(sql`SELECT k.id, k.name, k.scope, k.customer, k.mode, k.scopes, k.cidrs,
    k.api_version, k.expires_at, s.expires_at AS secret_expires_at,
    s.created_at AS secret_created_at, k.last_used_at, c.suspended, c.limits, c.external_id,
    k.revoked_at
    FROM gh_api_keys k
    JOIN gh_api_key_secrets s ON s.scope = k.scope AND s.key_id = k.id
    JOIN gh_customers c ON c.id = k.customer AND c.deleting_since IS NULL
    WHERE k.scope = ${scope} AND k.id = ${id} AND s.hash = ${hash}`)
