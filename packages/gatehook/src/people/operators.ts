/**
 * What is done to operators, the engine's own people (§12.2): made, disabled, given a password or
 * a one-time link. Each act is one transaction with its line in the audit trail.
 */
import type { Administration } from '../access/administration.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { createTimeOrderedId } from '../kernel/id.ts'
import { type Read, readMembers, required } from '../kernel/members.ts'
import { sha256 } from '../kernel/secret.ts'
import { isoTime } from '../kernel/time.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import { type Operator, operatorRows } from './collection.ts'
import * as store from './operator-store.ts'
import type { Hasher } from './password.ts'
import { MIN_LENGTH, newPassword, refuseCommonPassword } from './password-policy.ts'
import { hintName } from './sign-in.ts'
import { fold } from './username.ts'

const EMAIL_MAX = 254
const TOKEN_BYTES = 32
const LINK_LIFE_MS = 30 * 60_000

const { toJson: show } = operatorRows

const address: Read<string> = (value, wrong) =>
  typeof value === 'string' && value.length <= EMAIL_MAX && /^[^\s@]+@[^\s@]+$/.test(value)
    ? value
    : wrong('must be an e-mail address')

const password = required(newPassword(MIN_LENGTH.operator))
const creation = { email: required(address), password }
const passwordChange = { password }

/**
 * From `{email, password}`; `also` runs in the same transaction. Throws 422, 409 `conflict` for an
 * e-mail somebody has.
 */
export async function createOperator(
  admin: Administration,
  hasher: Hasher,
  input: unknown,
  actor: Actor,
  also?: (tx: Tx, id: string) => Promise<void>,
): Promise<Operator> {
  const wish = readMembers(input, creation)
  await refuseCommonPassword(wish.password, wish.email, '/password')
  const password = await hasher.hash(wish.password, hintName('operator', wish.email))
  const now = admin.clock.now()
  const id = createTimeOrderedId('op_', now, admin.random)
  const { email } = wish
  const row = { id, email, folded: fold(email), password, disabled: 0, created_at: now }
  try {
    await admin.write(async (tx) => {
      await store.insertOperator(tx, row)
      const act = { actor, action: 'operator.create', target: id, detail: { email } }
      await recordAudit(tx, act, admin)
      await also?.(tx, id)
    })
  } catch (error) {
    if (!(error instanceof ConstraintError) || error.index !== store.EMAIL_INDEX) throw error
    throw new Failure('conflict', `There is an operator ${email} already.`)
  }
  return show(row)
}

/** What all acts on one operator share; throws 404. */
const acting = (
  admin: Administration,
  email: string,
  action: string,
  actor: Actor,
  act: (tx: Tx, row: store.OperatorRow) => Promise<store.OperatorRow>,
): Promise<Operator> =>
  admin.write(async (tx) => {
    const row = await store.lockOperator(tx, fold(email))
    if (!row) throw new Failure('not_found')
    const after = await act(tx, row)
    await recordAudit(tx, { actor, action, target: row.id }, admin)
    return show(after)
  })

/** Sessions and links end with what opened them. */
async function shutOut(tx: Tx, { id }: store.OperatorRow): Promise<void> {
  await store.dropSessions(tx, id)
  await store.dropLinks(tx, id)
}

/** Throws 404. */
export const setOperatorDisabled = (
  admin: Administration,
  email: string,
  disabled: boolean,
  actor: Actor,
): Promise<Operator> => {
  const action = disabled ? 'operator.disable' : 'operator.enable'
  return acting(admin, email, action, actor, async (tx, row) => {
    const after = { ...row, disabled: Number(disabled) }
    await store.updateOperator(tx, after)
    if (disabled) await shutOut(tx, row)
    return after
  })
}

/** From `{password}`; the operator's sessions end. Throws 404, 422. */
export async function setOperatorPassword(
  admin: Administration,
  hasher: Hasher,
  email: string,
  input: unknown,
  actor: Actor,
): Promise<Operator> {
  const wish = readMembers(input, passwordChange)
  await refuseCommonPassword(wish.password, email, '/password')
  if (!(await store.findOperator(admin.db, fold(email)))) throw new Failure('not_found')
  const password = await hasher.hash(wish.password, hintName('operator', email))
  return acting(admin, email, 'operator.password', actor, async (tx, row) => {
    await store.updateOperator(tx, { ...row, password })
    await shutOut(tx, row)
    return row
  })
}

export interface ConsoleLink {
  /** Where it leads; the secret stands in the fragment, which no server is sent. */
  readonly path: string
  readonly expires_at: string
}

/**
 * A link that opens the console once, within 30 minutes: as the operator named, or, without one,
 * as the operator of the first start. Throws 404, 409 `invalid_state` for a disabled operator.
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
    const row = email === undefined ? undefined : await store.lockOperator(tx, fold(email))
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
