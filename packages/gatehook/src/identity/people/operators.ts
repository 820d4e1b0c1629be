/**
 * Administration of operators, the users of the console (§12.2): create, disable, set a password,
 * create a one-time link. Each change is one transaction that also records its audit row.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import { ROLES, type Role } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import { ConstraintError, type Tx } from '../../platform/storage/database.ts'
import { requireOne } from '../../platform/storage/discarded-rows.ts'
import { emailAddress } from '../../protocol/fields/email-address.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import type { AdminCaller, Administration } from '../access/administration.ts'
import { makerColumns } from '../access/given-access.ts'
import { type OperatorJson, operatorTable } from './collection.ts'
import { operatorAccountKey } from './login.ts'
import { endOperatorAccess } from './operator-access.ts'
import * as store from './operator-store.ts'
import type { Hasher } from './password.ts'
import { MIN_LENGTH, newPassword, rejectCommonPassword } from './password-policy.ts'

const TOKEN_BYTES = 32
const LINK_LIFE_MS = 30 * 60_000

const password = newPassword(MIN_LENGTH.operator)
const role = b.oneOf(ROLES)
export const operatorCreation = {
  email: emailAddress,
  password,
  role: role.optional().describe('Default `administrator`.'),
}
export type OperatorCreation = ValuesOf<typeof operatorCreation>
export const operatorRole = { role }
export const operatorPatch = { role: role.optional(), disabled: b.bool().optional() }
export const operatorPassword = { password }

/** The role of an operator whose creation names none. */
const DEFAULT_ROLE: Role = 'administrator'

/**
 * Creates an operator from `{email, password, role?}`; `work` runs in the same transaction. Throws
 * 422, 409 `conflict` for an e-mail address in use.
 */
export async function createOperator(
  admin: Administration,
  hasher: Hasher,
  body: OperatorCreation,
  actor: Actor,
  work?: (tx: Tx, id: string) => Promise<void>,
): Promise<OperatorJson> {
  const { email, role = DEFAULT_ROLE } = body
  await rejectCommonPassword(body.password, email, '/password')
  const password = await hasher.hash(body.password, operatorAccountKey(email))
  const now = admin.clock.now()
  const id = createTimeOrderedId('op_', now, admin.random)
  const row = { id, email, folded: foldName(email), password, role, disabled: 0, created_at: now }
  try {
    return await admin.write(async (tx) => {
      requireOne(await store.insertOperator(tx, row))
      const entry = { actor, action: 'operator.create', target: id, detail: { email, role } }
      await recordAudit(tx, entry, admin)
      await work?.(tx, id)
      return operatorTable.toJson({ ...row, issuer: null })
    })
  } catch (error) {
    if (!(error instanceof ConstraintError) || !error.isOf(store.EMAIL_INDEX)) throw error
    throw new Failure('conflict', `There is an operator ${email} already.`)
  }
}

/** Locks the operator of an e-mail address or id. Throws 404. */
async function lockRow(tx: Tx, name: string): Promise<store.OperatorRow> {
  const row = await store.lockNamedOperator(tx, name)
  if (!row) throw new Failure('not_found')
  return row
}

/** Throws 409 `invalid_state` for an operator of a provider: it alone gives access and role. */
export function requirePassword({ issuer }: Pick<store.OperatorRow, 'issuer'>): void {
  if (issuer === null) return
  throw new Failure('invalid_state', `The operator signs in with ${issuer}.`)
}

/** Ends all access by the authority of an operator, who had more permissions. */
export async function endWiderAccess(
  admin: Administration,
  tx: Tx,
  { id, role: formerRole }: Pick<store.OperatorRow, 'id' | 'role'>,
  role: Role,
): Promise<void> {
  if (ROLES.indexOf(role) < ROLES.indexOf(formerRole)) {
    await admin.endGivenAccess?.(tx, { maker: id })
  }
}

/**
 * Changes the role, also for open sessions, and disables or enables an operator; the sessions of a
 * disabled one end. Throws 404.
 */
export const updateOperator = (
  admin: Administration,
  email: string,
  { role, disabled }: ValuesOf<typeof operatorPatch>,
  actor: Actor,
): Promise<OperatorJson> =>
  admin.write(async (tx) => {
    const row = await lockRow(tx, email)
    if (role !== undefined) requirePassword(row)
    const updatedRow = {
      ...row,
      role: role ?? row.role,
      disabled: disabled === undefined ? row.disabled : Number(disabled),
    }
    await store.updateOperator(tx, updatedRow)
    const record = (action: string, detail: Readonly<Record<string, unknown>> = {}) =>
      recordAudit(tx, { actor, action, target: row.id, detail }, admin)
    if (role !== undefined) await record('operator.role', { role })
    if (disabled !== undefined) await record(disabled ? 'operator.disable' : 'operator.enable')
    if (disabled) await endOperatorAccess(admin, tx, row.id)
    else await endWiderAccess(admin, tx, row, updatedRow.role)
    return operatorTable.toJson(updatedRow)
  })

/** Disables or enables an operator. Throws 404. */
export const setOperatorDisabled = (
  admin: Administration,
  email: string,
  disabled: boolean,
  actor: Actor,
): Promise<OperatorJson> => updateOperator(admin, email, { disabled }, actor)

/** Changes the role from `{role}`. Throws 404. */
export const setOperatorRole = (
  admin: Administration,
  email: string,
  { role }: ValuesOf<typeof operatorRole>,
  actor: Actor,
): Promise<OperatorJson> => updateOperator(admin, email, { role }, actor)

/** Sets a password from `{password}`; the operator's sessions end. Throws 404, 422. */
export async function setOperatorPassword(
  admin: Administration,
  hasher: Hasher,
  email: string,
  body: ValuesOf<typeof operatorPassword>,
  actor: Actor,
): Promise<OperatorJson> {
  await rejectCommonPassword(body.password, email, '/password')
  if (!(await store.findOperator(admin.db, foldName(email)))) throw new Failure('not_found')
  const password = await hasher.hash(body.password, operatorAccountKey(email))
  return admin.write(async (tx) => {
    const row = await lockRow(tx, email)
    await store.updateOperator(tx, { ...row, password })
    await store.deletePasskeysOf(tx, row.id)
    await endOperatorAccess(admin, tx, row.id)
    const entry = { actor, action: 'operator.password', target: row.id, detail: {} }
    await recordAudit(tx, entry, admin)
    return operatorTable.toJson(row)
  })
}

const firstRun: Actor = { kind: 'system', id: 'first-run' }

/** Creates the link of the first operator; returns undefined once an operator exists. */
export const createFirstLink = async (admin: Administration): Promise<ConsoleLink | undefined> =>
  (await store.hasOperator(admin.db)) ? undefined : createConsoleLink(admin, undefined, firstRun)

interface ConsoleLink {
  /** The secret is in the fragment, which browsers do not send to a server. */
  readonly path: string
  readonly expires_at: string
}

/**
 * Creates a link that opens the console once, within 30 minutes, as the operator of `email`.
 * Without an e-mail address it opens the session that creates the first operators. Throws 404, 409
 * `invalid_state` for a disabled operator.
 */
export const createConsoleLink = (
  admin: Administration,
  email: string | undefined,
  actor: Actor,
): Promise<ConsoleLink> => admin.write((tx) => insertConsoleLink(tx, admin, email, { actor }))

/**
 * The part of `createConsoleLink` in its transaction.
 *
 * @param maker with whose access the link ends; undefined: with none
 */
export async function insertConsoleLink(
  tx: Tx,
  admin: Administration,
  email: string | undefined,
  { actor, maker }: Pick<AdminCaller, 'actor' | 'maker'>,
): Promise<ConsoleLink> {
  const now = admin.clock.now()
  const id = createTimeOrderedId('lnk_', now, admin.random)
  const token = admin.random.bytes(TOKEN_BYTES).toString('base64url')
  const expires_at = now + LINK_LIFE_MS
  const row = email === undefined ? undefined : await lockRow(tx, email)
  if (row && row.disabled !== 0) throw new Failure('invalid_state', 'The operator is disabled.')
  if (row) requirePassword(row)
  const operator = row?.id ?? null
  const madeBy = { maker: maker ? JSON.stringify(maker) : null, ...makerColumns(maker) }
  await store.insertLink(tx, { hash: sha256(token), id, operator, expires_at, ...madeBy })
  const detail = { operator }
  await recordAudit(tx, { actor, action: 'operator.link', target: id, detail }, admin)
  return { path: `/console#token=${token}`, expires_at: isoTime(expires_at) }
}
