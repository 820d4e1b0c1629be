/**
 * Administration of operators, the users of the console (§12.2): create, disable, set a password,
 * create a one-time link. Each change is one transaction that also records its audit row.
 */
import type { Administration } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { type Read, readMembers, required } from '../kernel/members.ts'
import { sha256 } from '../kernel/secret.ts'
import { isoTime } from '../kernel/time.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import { type OperatorJson, operatorTable } from './collection.ts'
import { formatAccountKey } from './login.ts'
import * as store from './operator-store.ts'
import type { Hasher } from './password.ts'
import { MIN_LENGTH, newPassword, rejectCommonPassword } from './password-policy.ts'
import { foldName } from './username.ts'

const EMAIL_MAX = 254
const TOKEN_BYTES = 32
const LINK_LIFE_MS = 30 * 60_000

const emailAddress: Read<string> = (value, wrong) =>
  typeof value === 'string' && value.length <= EMAIL_MAX && /^[^\s@]+@[^\s@]+$/.test(value)
    ? value
    : wrong('must be an e-mail address')

const password = required(newPassword(MIN_LENGTH.operator))
const creationMembers = { email: required(emailAddress), password }
const passwordMembers = { password }

/**
 * Creates an operator from `{email, password}`; `work` runs in the same transaction. Throws 422,
 * 409 `conflict` for an e-mail address in use.
 */
export async function createOperator(
  admin: Administration,
  hasher: Hasher,
  input: unknown,
  actor: Actor,
  work?: (tx: Tx, id: string) => Promise<void>,
): Promise<OperatorJson> {
  const body = readMembers(input, creationMembers)
  const { email } = body
  await rejectCommonPassword(body.password, email, '/password')
  const password = await hasher.hash(body.password, formatAccountKey('operator', email))
  const now = admin.clock.now()
  const id = createTimeOrderedId('op_', now, admin.random)
  const row = { id, email, folded: foldName(email), password, disabled: 0, created_at: now }
  try {
    await admin.write(async (tx) => {
      await store.insertOperator(tx, row)
      const entry = { actor, action: 'operator.create', target: id, detail: { email } }
      await recordAudit(tx, entry, admin)
      await work?.(tx, id)
    })
  } catch (error) {
    if (!(error instanceof ConstraintError) || error.index !== store.EMAIL_INDEX) throw error
    throw new Failure('conflict', `There is an operator ${email} already.`)
  }
  return operatorTable.toJson(row)
}

/** Runs a change of one operator and records it. Throws 404. */
const changeOperator = (
  admin: Administration,
  email: string,
  action: string,
  actor: Actor,
  change: (tx: Tx, row: store.OperatorRow) => Promise<store.OperatorRow>,
): Promise<OperatorJson> =>
  admin.write(async (tx) => {
    const row = await store.lockOperator(tx, foldName(email))
    if (!row) throw new Failure('not_found')
    const updatedRow = await change(tx, row)
    await recordAudit(tx, { actor, action, target: row.id }, admin)
    return operatorTable.toJson(updatedRow)
  })

/** Ends all sessions of an operator and deletes its links. */
async function endAccess(tx: Tx, { id }: store.OperatorRow): Promise<void> {
  await store.deleteSessions(tx, id)
  await store.deleteLinks(tx, id)
}

/** Disables or enables an operator; the sessions of a disabled one end. Throws 404. */
export const setOperatorDisabled = (
  admin: Administration,
  email: string,
  disabled: boolean,
  actor: Actor,
): Promise<OperatorJson> => {
  const action = disabled ? 'operator.disable' : 'operator.enable'
  return changeOperator(admin, email, action, actor, async (tx, row) => {
    const updatedRow = { ...row, disabled: Number(disabled) }
    await store.updateOperator(tx, updatedRow)
    if (disabled) await endAccess(tx, row)
    return updatedRow
  })
}

/** Sets a password from `{password}`; the operator's sessions end. Throws 404, 422. */
export async function setOperatorPassword(
  admin: Administration,
  hasher: Hasher,
  email: string,
  input: unknown,
  actor: Actor,
): Promise<OperatorJson> {
  const body = readMembers(input, passwordMembers)
  await rejectCommonPassword(body.password, email, '/password')
  if (!(await store.findOperator(admin.db, foldName(email)))) throw new Failure('not_found')
  const password = await hasher.hash(body.password, formatAccountKey('operator', email))
  return changeOperator(admin, email, 'operator.password', actor, async (tx, row) => {
    await store.updateOperator(tx, { ...row, password })
    await endAccess(tx, row)
    return row
  })
}

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
export async function createConsoleLink(
  admin: Administration,
  email: string | undefined,
  actor: Actor,
): Promise<ConsoleLink> {
  const now = admin.clock.now()
  const id = createTimeOrderedId('lnk_', now, admin.random)
  const token = admin.random.bytes(TOKEN_BYTES).toString('base64url')
  const expires_at = now + LINK_LIFE_MS
  await admin.write(async (tx) => {
    const row = email === undefined ? undefined : await store.lockOperator(tx, foldName(email))
    if (email !== undefined && !row) throw new Failure('not_found')
    if (row && row.disabled !== 0) {
      throw new Failure('invalid_state', 'The operator is disabled.')
    }
    const operator = row?.id ?? null
    await store.insertLink(tx, { hash: sha256(token), id, operator, expires_at })
    const detail = { operator }
    await recordAudit(tx, { actor, action: 'operator.link', target: id, detail }, admin)
  })
  return { path: `/console#token=${token}`, expires_at: isoTime(expires_at) }
}
