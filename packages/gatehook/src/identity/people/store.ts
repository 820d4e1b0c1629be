/** SQL of credentials: sign-in name, password hash, role and scopes of a row that signs in. */

import { selectTargets } from '../../history/audit/reader.ts'
import {
  ConstraintError,
  type Database,
  type Reader,
  type Row,
  type Tx,
} from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import { insertInto, join, prepareStatement, sql } from '../../platform/storage/sql.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { ADMIN_SCOPE } from '../access/administration.ts'
import { customerOf, selectOfCustomer } from '../access/customer-reader.ts'
import type { CreatedCredential, CreatedReading } from '../access/key-reader.ts'
import { INSTALLATION, type NameReach } from './namespace.ts'

export interface CredentialRow extends Row {
  readonly resource: string
  /** The id of the row. */
  readonly id: number
  readonly scope: number
  readonly customer: string
  readonly mode: 'live' | 'test'
  /** The name in the row, if it has one. */
  readonly name: string | null
  readonly username: string
  readonly folded: string
  /** The rows among which the name is unique (`namespace.ts`). */
  readonly namespace: number
  readonly password: string
  readonly role: string | null
  readonly scopes: string
  readonly disabled: number
  /** 1: the person has used a token of a mail to the sign-in name. */
  readonly confirmed: number
  /** Changes with the name, the password, the role, the scopes and `disabled`. */
  readonly revision: number
  readonly created_at: number
}

/** A credential with the columns of its customer. */
export interface AccountRow extends CredentialRow {
  readonly suspended: number
  readonly limits: string
  readonly external_id: string | null
}

/** The unique index of sign-in names. */
export const USERNAME_INDEX = 'gh_people_names'

const COLUMN_NAMES = [
  ...['resource', 'id', 'scope', 'customer', 'mode', 'name', 'username', 'folded', 'namespace'],
  ...['password', 'role', 'scopes', 'disabled', 'confirmed', 'revision', 'created_at'],
]
const COLUMNS = COLUMN_NAMES.join(', ')
const account = `SELECT ${COLUMN_NAMES.map((name) => `p.${name}`).join(', ')},
    c.suspended, c.limits, c.external_id
  FROM gh_people p JOIN ${customerOf('p.customer')} WHERE p.resource = ?`
const byName = prepareStatement(`${account} AND p.namespace = ? AND p.folded = ?`)
const byId = prepareStatement(`${account} AND p.id = ?`)

export const findByName = (from: Reader, resource: string, namespace: number, folded: string) =>
  from.get<AccountRow>(byName([resource, namespace, folded]))

export const findById = (from: Reader, resource: string, id: number) =>
  from.get<AccountRow>(byId([resource, id]))

const credential = prepareStatement(
  `SELECT ${COLUMNS} FROM gh_people WHERE resource = ? AND id = ?`,
)

/** Lists the persons with `admin` that an operator created and that are enabled, newest first. */
export const listAdministratorsCreatedBy = (
  from: Reader,
  operator: string,
  { limit }: CreatedReading,
) =>
  from.all<CreatedCredential>(sql`SELECT CAST(p.id AS TEXT) AS id, p.username AS name, p.customer,
      p.mode, p.scopes, a.at
    FROM ${selectTargets('person.create', operator)} AS a
    JOIN gh_people p ON p.id = CAST(a.target AS BIGINT)
    WHERE p.disabled = 0 AND p.scopes LIKE ${`%"${ADMIN_SCOPE}"%`}
    ORDER BY a.id DESC LIMIT ${limit}`)

export const lockCredential = (tx: Tx, resource: string, id: number) =>
  tx.lock<CredentialRow>(credential([resource, id]))

/** Whether the customer of the credential is suspended; null if it was or is being deleted. */
const heldCredential = prepareStatement(
  `SELECT ${COLUMNS}, ${selectOfCustomer('suspended', 'customer')} AS suspended FROM gh_people
   WHERE resource = ? AND id = ?`,
)

/** Returns a credential that nothing changes until the transaction ends; see `lockCredential`. */
export async function holdCredential(tx: Tx, resource: string, id: number) {
  const [row] = await tx.hold<CredentialRow & { readonly suspended: number | null }>(
    heldCredential([resource, id]),
  )
  return row
}

export const insertCredential = (tx: Tx, row: Omit<CredentialRow, 'disabled'>) =>
  tx.run(insertInto('gh_people', row))

export const updateCredential = (
  tx: Tx,
  row: Pick<CredentialRow, 'resource' | 'id' | 'password' | 'role' | 'scopes' | 'disabled'>,
) =>
  tx.run(sql`UPDATE gh_people SET password = ${row.password}, role = ${row.role},
    scopes = ${row.scopes}, disabled = ${row.disabled}, revision = revision + 1
    WHERE resource = ${row.resource} AND id = ${row.id}`)

export const rename = (
  tx: Tx,
  row: Pick<CredentialRow, 'resource' | 'id' | 'username' | 'folded' | 'confirmed'>,
) =>
  runOne(
    tx,
    sql`UPDATE gh_people SET username = ${row.username}, folded = ${row.folded},
    confirmed = ${row.confirmed}, revision = revision + 1
    WHERE resource = ${row.resource} AND id = ${row.id}`,
  )

/** Stores that the person receives the mail to the sign-in name; the revision stays. */
export const confirmName = (tx: Tx, { resource, id }: Pick<CredentialRow, 'resource' | 'id'>) =>
  tx.run(sql`UPDATE gh_people SET confirmed = 1 WHERE resource = ${resource} AND id = ${id}`)

/** Stores the name in the row of a person; the revision stays. */
export const updateName = (
  tx: Tx,
  { resource, id, name }: Pick<CredentialRow, 'resource' | 'id' | 'name'>,
) => tx.run(sql`UPDATE gh_people SET name = ${name} WHERE resource = ${resource} AND id = ${id}`)

/** Stores the instant of a sign-in; the revision stays. */
export const updateLastSignIn = (tx: Tx, resource: string, id: number, now: number) =>
  tx.run(lastSignIn([now, resource, id]))

const lastSignIn = prepareStatement(
  'UPDATE gh_people SET last_sign_in_at = ? WHERE resource = ? AND id = ?',
)

/** Deletes a credential and its identities. */
export async function removeCredential(tx: Tx, resource: string, id: number): Promise<void> {
  await tx.run(sql`DELETE FROM gh_identities WHERE resource = ${resource} AND person = ${id}`)
  await tx.run(sql`DELETE FROM gh_people WHERE resource = ${resource} AND id = ${id}`)
}

/** Returns the sign-in names of people by the ids of their rows. */
export async function readUsernames(
  from: Reader,
  resource: string,
  ids: Iterable<number>,
): Promise<ReadonlyMap<number, string>> {
  const list = [...new Set(ids)]
  if (list.length === 0) return new Map()
  const rows = await from.arrays(sql`SELECT id, username FROM gh_people
    WHERE resource = ${resource} AND id IN (${join(list)})`)
  return new Map(rows.map(([id, username]) => [Number(id), String(username)]))
}

/**
 * Returns the folded ones of some addresses by which an operator, or another person of the
 * resource, signs in.
 */
export async function listAddressesOfOthers(
  from: Reader,
  { resource, id }: Pick<CredentialRow, 'resource' | 'id'>,
  addresses: readonly string[],
): Promise<string[]> {
  if (addresses.length === 0) return []
  const folded = join([...new Set(addresses.map(foldName))])
  const rows = await from.arrays(sql`SELECT folded FROM gh_operators WHERE folded IN (${folded})
    UNION SELECT folded FROM gh_people
    WHERE resource = ${resource} AND id <> ${id} AND folded IN (${folded})`)
  return rows.map(([address]) => String(address))
}

const isOfInstallation = sql`SELECT 1 FROM gh_people WHERE namespace = ${INSTALLATION.no} LIMIT 1`
const isOfCustomers = sql`SELECT 1 FROM gh_people WHERE namespace > ${0} LIMIT 1`

/**
 * Moves all names to the namespaces of the declaration. Returns false if it would make two names
 * equal; then it changes nothing.
 */
export async function moveNames(db: Database, names: NameReach): Promise<boolean> {
  const isByCustomer = names === 'customer'
  const [other] = await db.arrays(isByCustomer ? isOfInstallation : isOfCustomers)
  if (!other) return true
  const move = isByCustomer
    ? sql`UPDATE gh_people SET namespace = scope`
    : sql`UPDATE gh_people SET namespace = ${INSTALLATION.no}`
  try {
    await db.write((tx) => tx.run(move))
    return true
  } catch (error) {
    if (error instanceof ConstraintError && error.isOf(USERNAME_INDEX)) return false
    throw error
  }
}
