/** SQL of registrations and their secrets. */
import { encryptSigningSecret } from '../deliveries/signing-secret.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import type { Registration } from './registration.ts'

const COLUMNS = `no, id, tag, scope, url, events, scopes, description, api_version, subject,
  client_id, active, disabled_reason, revision, created_at, updated_at, deleted_at`

const byId = fixed(`SELECT ${COLUMNS} FROM gh_webhooks WHERE scope = ? AND id = ?`)
const byNo = fixed(`SELECT ${COLUMNS} FROM gh_webhooks WHERE no = ?`)
const customer = fixed('SELECT no FROM gh_customers WHERE no = ?')
const counting = fixed(
  'SELECT count(*) AS n FROM gh_webhooks WHERE scope = ? AND deleted_at IS NULL',
)
const tagged = fixed('SELECT no FROM gh_webhooks WHERE scope = ? AND tag = ? LIMIT 1')
const insert = fixed(
  `INSERT INTO gh_webhooks (id, tag, scope, url, events, description, api_version, scopes, subject,
     client_id, created_at, updated_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
)
/** Switched on again, it begins with a clean bill of health. */
const change = fixed(
  `UPDATE gh_webhooks SET url = ?, events = ?, description = ?, api_version = ?, active = ?,
     disabled_reason = ?, scopes = ?, subject = ?, client_id = ?, updated_at = ?,
     revision = revision + 1
   WHERE no = ? RETURNING ${COLUMNS}`,
)
const heal = fixed(
  `UPDATE gh_webhooks SET first_failure_at = NULL, last_failure_at = NULL, parked_until = NULL
   WHERE no = ?`,
)
/** Few of them ever: a breaker or `Retry-After` lets little come as far as a second attempt. */
const hasten = fixed(
  `UPDATE gh_deliveries SET next_attempt_at = ? WHERE no IN
     (SELECT no FROM gh_deliveries WHERE webhook_no = ? AND state = 'pending'
        AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 10000)`,
)
const bury = fixed(
  `UPDATE gh_webhooks SET deleted_at = ?, updated_at = ?, active = 0, revision = revision + 1
   WHERE no = ?`,
)
const touch = fixed('UPDATE gh_webhooks SET updated_at = ?, revision = revision + 1 WHERE no = ?')

export const findRegistration = (from: Reader, scope: Scope, id: string) =>
  from.get<Registration>(byId([scope, id]))

export const registrationOf = (from: Reader, no: number) => from.get<Registration>(byNo([no]))

export const lockRegistration = (tx: Tx, scope: Scope, id: string) =>
  tx.lock<Registration>(byId([scope, id]))

/** Whoever registers for the same customer waits: what is counted then, stays so. */
export const lockCustomer = (tx: Tx, scope: Scope) => tx.lock(customer([Math.floor(scope / 2)]))

export const countRegistrations = async (from: Reader, scope: Scope): Promise<number> =>
  Number((await from.get(counting([scope])))!.n)

export const tagIsTaken = async (tx: Tx, scope: Scope, tag: string): Promise<boolean> =>
  (await tx.get(tagged([scope, tag]))) !== undefined

export type NewRegistration = Pick<
  Registration,
  | 'id'
  | 'tag'
  | 'scope'
  | 'url'
  | 'events'
  | 'description'
  | 'api_version'
  | 'scopes'
  | 'subject'
  | 'client_id'
>

export async function insertRegistration(
  tx: Tx,
  row: NewRegistration,
  now: number,
): Promise<Registration> {
  const { id, tag, scope, url, events, description, api_version } = row
  const maker = [row.scopes, row.subject, row.client_id]
  const values = [id, tag, scope, url, events, description, api_version, ...maker, now, now]
  return (await tx.get<Registration>(insert(values)))!
}

export async function updateRegistration(
  tx: Tx,
  row: Registration,
  now: number,
): Promise<Registration> {
  const { url, events, description, api_version, active, disabled_reason, no } = row
  const maker = [row.scopes, row.subject, row.client_id]
  const values = [url, events, description, api_version, active, disabled_reason, ...maker, now, no]
  return (await tx.get<Registration>(change(values)))!
}

/** Its receiver was verified just now: what failed before is no reason to wait any longer. */
export async function forgetFailures(tx: Tx, no: number, now: number): Promise<void> {
  await tx.run(heal([no]))
  await tx.run(hasten([now, no, now]))
}

export const markDeleted = (tx: Tx, no: number, now: number) => tx.run(bury([now, now, no]))

/** Tells engines that something of it changed: its secrets. */
export const touchRegistration = (tx: Tx, no: number, now: number) => tx.run(touch([now, no]))

const live = fixed(
  `SELECT no, sealed, expires_at FROM gh_webhook_secrets
   WHERE webhook_no = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY no`,
)
const add = fixed(
  'INSERT INTO gh_webhook_secrets (webhook_no, sealed, created_at) VALUES (?, ?, ?) RETURNING no',
)
const fill = fixed('UPDATE gh_webhook_secrets SET sealed = ? WHERE no = ?')
const retire = fixed(
  `UPDATE gh_webhook_secrets SET expires_at = ?
   WHERE webhook_no = ? AND (expires_at IS NULL OR expires_at > ?)`,
)
const dropDead = fixed('DELETE FROM gh_webhook_secrets WHERE webhook_no = ? AND expires_at <= ?')
const dropOne = fixed('DELETE FROM gh_webhook_secrets WHERE no = ?')
const dropAll = fixed('DELETE FROM gh_webhook_secrets WHERE webhook_no = ?')

const EMPTY = new Uint8Array()

export interface StoredSecret {
  readonly no: number
  readonly sealed: Uint8Array
  readonly expires_at: number | null
}

/** Oldest first. */
export const liveSecrets = (from: Reader, webhookNo: number, now: number) =>
  from.all<StoredSecret>(live([webhookNo, now]))

/** The encrypted secret is bound to its row, so the row comes first. */
export async function addSecret(
  tx: Tx,
  vault: Vault,
  webhookNo: number,
  secret: string,
  now: number,
): Promise<void> {
  const { no } = (await tx.get<{ readonly no: number }>(add([webhookNo, EMPTY, now])))!
  await tx.run(fill([encryptSigningSecret(vault, no, secret), no]))
}

/** All that are there live until `until` at most. */
export async function retireSecrets(tx: Tx, webhookNo: number, until: number, now: number) {
  await tx.run(retire([until, webhookNo, until]))
  await tx.run(dropDead([webhookNo, now]))
}

export const dropSecret = (tx: Tx, no: number) => tx.run(dropOne([no]))
export const dropSecrets = (tx: Tx, webhookNo: number) => tx.run(dropAll([webhookNo]))

const ofPerson = fixed(
  `SELECT ${COLUMNS} FROM gh_webhooks WHERE scope = ? AND subject = ? AND deleted_at IS NULL`,
)
const ofClient = fixed(
  `SELECT ${COLUMNS} FROM gh_webhooks WHERE client_id = ? AND deleted_at IS NULL`,
)
const withoutScopes = fixed(
  `SELECT ${COLUMNS} FROM gh_webhooks WHERE scopes IS NULL AND deleted_at IS NULL LIMIT 100`,
)
const repeatScopes = fixed(
  `UPDATE gh_webhook_topics SET scopes =
     (SELECT w.scopes FROM gh_webhooks w WHERE w.no = gh_webhook_topics.webhook_no)
   WHERE scopes IS NULL`,
)

export const registrationsOfPerson = (from: Reader, scope: Scope, subject: string) =>
  from.all<Registration>(ofPerson([scope, subject]))

export const registrationsOfClient = (from: Reader, clientId: string) =>
  from.all<Registration>(ofClient([clientId]))

/** Registrations of a program that stored no scopes. */
export const registrationsWithoutScopes = (from: Reader) =>
  from.all<Registration>(withoutScopes([]))

export const fillTopicScopes = (tx: Tx) => tx.run(repeatScopes([]))
