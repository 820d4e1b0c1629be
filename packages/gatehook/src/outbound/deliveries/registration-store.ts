/** SQL of registrations and their secrets. */

import { type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Reader, Row, Statement, Tx } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import { join, prepareStatement, sql } from '../../platform/storage/sql.ts'
import { advanceDeliveries } from './log-store.ts'
import { encryptSigningSecret } from './signing-secret.ts'
import type { WakeDeliveries } from './wake-up.ts'

export interface Registration {
  readonly no: number
  readonly id: string
  readonly tag: string
  readonly scope: Scope
  readonly url: string
  /** JSON array of types and patterns. */
  readonly events: string
  readonly description: string | null
  /** JSON array of the maker's read scopes. */
  readonly scopes: string
  readonly api_version: string
  /** The person that is its maker. */
  readonly subject: string | null
  /** The OAuth client that is its maker, for itself or for the person. */
  readonly client_id: string | null
  /** The `Assertion` by which its maker has its token, as JSON. */
  readonly assertion: string | null
  readonly active: number
  readonly disabled_reason: string | null
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

const COLUMNS = `no, id, tag, scope, url, events, scopes, description, api_version, subject,
  client_id, assertion, active, disabled_reason, revision, created_at, updated_at, deleted_at`

/** Registrations that one message names; other nodes find the deliveries of further ones. */
const WAKE_MAX = 500

const byId = prepareStatement(`SELECT ${COLUMNS} FROM gh_webhooks WHERE scope = ? AND id = ?`)
const byNo = prepareStatement(`SELECT ${COLUMNS} FROM gh_webhooks WHERE scope = ? AND no = ?`)
const ofCustomer = prepareStatement(
  `SELECT no FROM gh_webhooks WHERE scope IN (?, ?) AND deleted_at IS NULL
   ORDER BY scope, no LIMIT ${WAKE_MAX}`,
)
const countOf = prepareStatement(
  'SELECT count(*) AS n FROM gh_webhooks WHERE scope = ? AND deleted_at IS NULL',
)
const tagInScope = prepareStatement(
  'SELECT no FROM gh_webhooks WHERE scope = ? AND tag = ? LIMIT 1',
)
const insert = prepareStatement(
  `INSERT INTO gh_webhooks (id, tag, scope, url, events, description, api_version, scopes, subject,
     client_id, assertion, created_at, updated_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
)
const update = prepareStatement(
  `UPDATE gh_webhooks SET url = ?, events = ?, description = ?, api_version = ?, active = ?,
     disabled_reason = ?, scopes = ?, subject = ?, client_id = ?, assertion = ?,
     updated_at = ?,
     revision = revision + 1,
     health = CASE WHEN CAST(? AS BIGINT) = 0 THEN 0 WHEN health = 0 THEN 1 ELSE health END
   WHERE scope = ? AND no = ? RETURNING ${COLUMNS}`,
)
const clearHealth = prepareStatement(
  `UPDATE gh_webhooks SET first_failure_at = NULL, last_failure_at = NULL, hold_until = NULL
   WHERE scope = ? AND no = ?`,
)
export const advanceRevision = prepareStatement(
  'UPDATE gh_webhooks SET revision = revision + 1 WHERE scope = ? AND no = ?',
)
const markAsDeleted = prepareStatement(
  `UPDATE gh_webhooks SET deleted_at = ?, updated_at = ?, active = 0, revision = revision + 1
   WHERE scope = ? AND no = ?`,
)
const incrementRevision = prepareStatement(
  'UPDATE gh_webhooks SET updated_at = ?, revision = revision + 1 WHERE scope = ? AND no = ?',
)

export const findRegistration = (from: Reader, scope: Scope, id: string) =>
  from.get<Registration>(byId([scope, id]))

/** The columns by which a statement finds a registration. */
export type RegistrationPlace = Pick<Registration, 'scope' | 'no'>

export const registrationOf = (from: Reader, { scope, no }: RegistrationPlace) =>
  from.get<Registration>(byNo([scope, no]))

export const lockRegistration = (tx: Tx, scope: Scope, id: string) =>
  tx.lock<Registration>(byId([scope, id]))

const noById = prepareStatement('SELECT no FROM gh_webhooks WHERE id = ? AND deleted_at IS NULL')
const inScope = prepareStatement(`SELECT id, url, events, scopes, subject FROM gh_webhooks
  WHERE scope = ? AND deleted_at IS NULL ORDER BY id`)

/** Returns the number of a registration of any customer by its id. */
export const findRegistrationNo = async (from: Reader, id: string): Promise<number | undefined> =>
  (await from.get<{ no: number }>(noById([id])))?.no

/** The columns on which the state of a delivery depends. */
export type RegistrationStatus = Pick<Registration, 'no' | 'id' | 'active' | 'deleted_at'>

/** Returns the states of registrations by their numbers. */
export async function readRegistrationStatuses(
  from: Reader,
  nos: Iterable<number>,
): Promise<ReadonlyMap<number, RegistrationStatus>> {
  const list = join([...new Set(nos)].map((no) => sql`${no}`))
  const rows = await from.all<Row & RegistrationStatus>(
    sql`SELECT no, id, active, deleted_at FROM gh_webhooks WHERE no IN (${list})`,
  )
  return new Map(rows.map((row) => [Number(row.no), row]))
}

/** Lists what the registrations of a scope receive. */
export const listSubscriptions = (from: Reader, scope: number) =>
  from.all<Row & Pick<Registration, 'id' | 'url' | 'events' | 'scopes' | 'subject'>>(
    inScope([scope]),
  )

export const countRegistrations = async (from: Reader, scope: Scope): Promise<number> =>
  Number((await from.get(countOf([scope])))!.n)

export const isTagUsed = async (tx: Tx, scope: Scope, tag: string): Promise<boolean> =>
  (await tx.get(tagInScope([scope, tag]))) !== undefined

type NewRegistration = Pick<
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
  | 'assertion'
>

export async function insertRegistration(
  tx: Tx,
  row: NewRegistration,
  now: number,
): Promise<Registration> {
  const { id, tag, scope, url, events, description, api_version } = row
  const maker = [row.scopes, row.subject, row.client_id, row.assertion]
  const values = [id, tag, scope, url, events, description, api_version, ...maker, now, now]
  return (await tx.get<Registration>(insert(values)))!
}

export async function updateRegistration(
  tx: Tx,
  row: Registration,
  now: number,
): Promise<Registration> {
  const { url, events, description, api_version, active, disabled_reason } = row
  const maker = [row.scopes, row.subject, row.client_id, row.assertion]
  const settings = [url, events, description, api_version, active, disabled_reason]
  const values = [...settings, ...maker, now, active, row.scope, row.no]
  return (await tx.get<Registration>(update(values)))!
}

/** Clears the health of a registration whose receiver is verified, and makes its deliveries due. */
export async function clearFailures(
  tx: Tx,
  { scope, no }: RegistrationPlace,
  now: number,
): Promise<void> {
  await tx.run(clearHealth([scope, no]))
  await advanceDeliveries(tx, { scope, no }, now)
}

/** Clears the health of an active registration; engines then close its circuit breaker. */
export async function resumeRegistration(
  tx: Tx,
  place: RegistrationPlace,
  now: number,
): Promise<void> {
  await runOne(tx, advanceRevision([place.scope, place.no]))
  await clearFailures(tx, place, now)
}

export const markDeleted = (tx: Tx, { scope, no }: RegistrationPlace, now: number) =>
  runOne(tx, markAsDeleted([now, now, scope, no]))

/** Increments the revision, so that engines read the registration's secrets again. */
export const markChanged = (tx: Tx, { scope, no }: RegistrationPlace, now: number) =>
  runOne(tx, incrementRevision([now, scope, no]))

const liveOf = prepareStatement(
  `SELECT no, encrypted, expires_at FROM gh_webhook_secrets
   WHERE scope = ? AND webhook_no = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY no`,
)
const insertSecret = prepareStatement(
  `INSERT INTO gh_webhook_secrets (scope, webhook_no, encrypted, created_at) VALUES (?, ?, ?, ?)
   RETURNING no`,
)
const fillSecret = prepareStatement(
  'UPDATE gh_webhook_secrets SET encrypted = ? WHERE scope = ? AND no = ?',
)
const expire = prepareStatement(
  `UPDATE gh_webhook_secrets SET expires_at = ?
   WHERE scope = ? AND webhook_no = ? AND (expires_at IS NULL OR expires_at > ?)`,
)
const dropExpired = prepareStatement(
  'DELETE FROM gh_webhook_secrets WHERE scope = ? AND webhook_no = ? AND expires_at <= ?',
)
const dropOne = prepareStatement('DELETE FROM gh_webhook_secrets WHERE scope = ? AND no = ?')
const dropAll = prepareStatement(
  'DELETE FROM gh_webhook_secrets WHERE scope = ? AND webhook_no = ?',
)

const EMPTY = new Uint8Array()

interface StoredSecret {
  readonly no: number
  readonly encrypted: Uint8Array
  readonly expires_at: number | null
}

/** Reads the secrets that have not expired, oldest first. */
export const liveSecrets = (from: Reader, { scope, no }: RegistrationPlace, now: number) =>
  from.all<StoredSecret>(liveOf([scope, no, now]))

/** Stores a secret. The encryption binds it to its row, so the row is inserted first. */
export async function addSecret(
  tx: Tx,
  vault: Vault,
  { scope, no: webhookNo }: RegistrationPlace,
  secret: string,
  now: number,
): Promise<void> {
  const values = [scope, webhookNo, EMPTY, now]
  const { no } = (await tx.get<{ readonly no: number }>(insertSecret(values)))!
  await runOne(tx, fillSecret([encryptSigningSecret(vault, no, secret), scope, no]))
}

/** Makes every secret expire at `until` at the latest; deletes expired ones. */
export async function expireSecrets(
  tx: Tx,
  { scope, no }: RegistrationPlace,
  until: number,
  now: number,
): Promise<void> {
  await tx.run(expire([until, scope, no, until]))
  await tx.run(dropExpired([scope, no, now]))
}

/** Deletes one secret by its own number. */
export const dropSecret = (tx: Tx, scope: Scope, no: number) => runOne(tx, dropOne([scope, no]))
export const dropSecrets = (tx: Tx, { scope, no }: RegistrationPlace) =>
  tx.run(dropAll([scope, no]))

const ofPerson = prepareStatement(
  `SELECT ${COLUMNS} FROM gh_webhooks
   WHERE scope = ? AND subject = ? AND deleted_at IS NULL ORDER BY no`,
)
const ofClient = prepareStatement(
  `SELECT ${COLUMNS} FROM gh_webhooks
   WHERE scope = ? AND client_id = ? AND deleted_at IS NULL ORDER BY no`,
)
const ofAssertions = prepareStatement(
  `SELECT ${COLUMNS} FROM gh_webhooks
   WHERE scope = ? AND assertion IS NOT NULL AND deleted_at IS NULL ORDER BY no`,
)
/** Returns a function that wakes the deliveries of a customer, by number, after the commit. */
export const customerWaker =
  (wake: WakeDeliveries) =>
  async (tx: Tx, customerNo: number): Promise<void> => {
    const scopes = [scopeOf(customerNo, 'test'), scopeOf(customerNo, 'live')]
    const rows = await tx.all<{ readonly no: number }>(ofCustomer(scopes))
    tx.afterCommit(() => wake(rows.map(({ no }) => no)))
  }

/**
 * Locks the found registrations in the order of their numbers, and returns those that still match:
 * another request may have changed, taken over or deleted one meanwhile.
 */
async function lockEach(
  tx: Tx,
  statement: Statement,
  matches: (row: Registration) => boolean,
): Promise<Registration[]> {
  const rows: Registration[] = []
  for (const { scope, id } of await tx.all<Registration>(statement)) {
    const row = await lockRegistration(tx, scope, id)
    if (row?.deleted_at === null && matches(row)) rows.push(row)
  }
  return rows
}

export const lockRegistrationsOfPerson = (tx: Tx, scope: Scope, person: string) =>
  lockEach(tx, ofPerson([scope, person]), ({ subject }) => subject === person)

/** Locks the registrations whose makers are workloads or agents of trusted issuers. */
export const lockRegistrationsOfAssertions = (tx: Tx, scope: Scope) =>
  lockEach(tx, ofAssertions([scope]), ({ assertion }) => assertion !== null)

export const lockRegistrationsOfClient = (tx: Tx, scope: Scope, clientId: string) =>
  lockEach(tx, ofClient([scope, clientId]), ({ client_id }) => client_id === clientId)

/** Replaces the secret of a row, which no master secret decrypts, by one that only nodes have. */
export const replaceLostSecret = (tx: Tx, no: number, encrypted: Uint8Array) =>
  tx.run(sql`UPDATE gh_webhook_secrets SET encrypted = ${encrypted} WHERE no = ${no}`)
