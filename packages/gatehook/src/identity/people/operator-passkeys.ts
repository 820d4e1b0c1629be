/**
 * Passkeys of operators (§16.12), under the session of the console. They count as passwords: a new
 * password and a reset of the second factor delete them, and an identity provider excludes them.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import { isoTime } from '../../kernel/time.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import { type Answer, type Call, json, noContent, type Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import {
  createSessionOpener,
  type OpenedSession,
  type RequireSession,
  requirePasswords,
  type SignInDeps,
} from './console-sign-in.ts'
import { hasSession, lockOperatorById } from './operator-store.ts'
import { CEREMONY_MS, type PasskeyCeremonies, type StoredPasskey } from './passkey-ceremony.ts'
import { operatorPasskeyOperations } from './passkey-operations.ts'
import { invalidCredentials } from './username.ts'

const REALM = 'operator'
const MAX_PASSKEYS = 20

interface OperatorPasskeyRow extends Row, StoredPasskey {
  readonly id: string
  readonly operator: string
  readonly created_at: number
  readonly last_used_at: number | null
}

const listPasskeys = (from: Reader, operator: string) =>
  from.all<OperatorPasskeyRow>(sql`SELECT id, operator, credential, public_key, counter, transports,
    created_at, last_used_at FROM gh_operator_passkeys WHERE operator = ${operator} ORDER BY id`)

const findPasskey = (from: Reader, credential: string) =>
  from.get<OperatorPasskeyRow>(sql`SELECT id, operator, credential, public_key, counter,
    transports, created_at, last_used_at FROM gh_operator_passkeys
    WHERE credential = ${credential}`)

const insertPasskey = (tx: Tx, row: Omit<OperatorPasskeyRow, 'last_used_at'>) =>
  tx.run(sql`INSERT INTO gh_operator_passkeys (id, operator, credential, public_key, counter,
    transports, created_at)
    VALUES (${row.id as string}, ${row.operator as string}, ${row.credential}, ${row.public_key},
            ${row.counter}, ${row.transports}, ${row.created_at as number})
    ON CONFLICT (credential) DO NOTHING`)

const usePasskey = (tx: Tx, row: OperatorPasskeyRow, newCounter: number, now: number) =>
  tx.run(sql`UPDATE gh_operator_passkeys SET counter = ${newCounter}, last_used_at = ${now}
    WHERE id = ${row.id} AND counter = ${row.counter}`)

/** Deletes a passkey that the audit trail says was deleted (§18.5). */
export const repeatOperatorPasskeyDeletion = (tx: Tx, id: string) =>
  tx.run(sql`DELETE FROM gh_operator_passkeys WHERE id = ${id}`)

interface OperatorPasskeyDeps extends SignInDeps {
  readonly admin: Administration
  readonly ceremonies: PasskeyCeremonies
  readonly outbox: MailOutbox
}

export function operatorPasskeyRoutes(
  deps: OperatorPasskeyDeps,
  requireSession: RequireSession,
): Route[] {
  const { admin, ceremonies, outbox } = deps
  const { db, clock, random } = admin
  const operations = operatorPasskeyOperations

  /** Returns the operator and the session. Throws 403 unless it began within 5 minutes. */
  const requireRecent = async (call: Call) => {
    const { id: session, operator, claims_read_at, created_at } = await requireSession(call)
    if (operator === null || claims_read_at !== null) {
      throw new Failure('invalid_state', 'Passkeys are for operators with a password.')
    }
    if (clock.now() - created_at > CEREMONY_MS) throw new Failure('recent_sign_in_required')
    return { operator, session }
  }

  return [
    implement(operations.createOptions, async (call) => {
      const { operator, session } = await requireRecent(call)
      const user = { id: operator, name: call.principal!.name ?? operator, begunBy: session }
      const options = await ceremonies.beginCreation(user, await listPasskeys(db, operator))
      return json(200, options, { 'cache-control': 'no-store' })
    }),

    implement(operations.create, async (call, input) => {
      const { operator, session } = await requireRecent(call)
      const user = { id: operator, begunBy: session }
      const created = await ceremonies.verifyCreation(user, input)
      if (!created) {
        throw new Failure('invalid_request', 'The passkey does not match its options: begin again.')
      }
      const created_at = clock.now()
      const id = createTimeOrderedId('psk_', created_at, random)
      await db.write(async (tx) => {
        const row = await lockOperatorById(tx, operator)
        if (row?.disabled !== 0) throw new Failure('forbidden')
        // A new password ends the sessions in a transaction that locks the operator, too.
        if (!(await hasSession(tx, session))) throw new Failure('unauthorized')
        const { length } = await listPasskeys(tx, operator)
        const passkey = { ...created, id, operator, created_at }
        if (length >= MAX_PASSKEYS || (await insertPasskey(tx, passkey)) === 0) {
          throw new Failure('conflict', `The passkey exists, or ${MAX_PASSKEYS} others do.`)
        }
        if (isMailAddress(row.email)) {
          const payload = { email: row.email }
          await outbox.enqueue(tx, 'operator_passkey_added', { scope: undefined, payload })
        }
        const entry = { actor: actorOf(call), action: 'operator.passkey_create', target: id }
        await recordAudit(tx, entry, admin)
      })
      return json(201, { id, created_at: isoTime(created_at), last_used_at: null })
    }),

    implement(operations.list, async (call) => {
      const { operator } = await requireSession(call)
      const rows = operator === null ? [] : await listPasskeys(db, operator)
      const data = rows.map(({ id, created_at, last_used_at: at }) => ({
        id,
        created_at: isoTime(created_at),
        last_used_at: at === null ? null : isoTime(at),
      }))
      return json(200, { data })
    }),

    implement(operations.remove, async (call) => {
      const { operator } = await requireSession(call)
      const id = call.params.id!
      await db.write(async (tx) => {
        const deleted = await tx.run(sql`DELETE FROM gh_operator_passkeys
          WHERE id = ${id} AND operator = ${operator ?? ''}`)
        if (deleted === 0) throw new Failure('not_found')
        const entry = { actor: actorOf(call), action: 'operator.passkey_delete', target: id }
        await recordAudit(tx, entry, admin)
      })
      return noContent()
    }),
  ]
}

/** @param answerWith returns the response that sets the cookie of a new session */
export function operatorPasskeySignIn(
  deps: OperatorPasskeyDeps,
  answerWith: (call: Call, session: OpenedSession) => Answer,
): Route[] {
  const { admin, ceremonies } = deps
  const { db, clock } = admin
  const openSession = createSessionOpener(deps)
  return [
    implement(operatorPasskeyOperations.signInOptions, async () => {
      requirePasswords(deps)
      return json(200, await ceremonies.beginSignIn(REALM), { 'cache-control': 'no-store' })
    }),

    implement(operatorPasskeyOperations.signIn, async (call, input) => {
      requirePasswords(deps)
      const row = await findPasskey(db, input.id)
      const counter = row && (await ceremonies.verifySignIn(REALM, input, row))
      if (!row || counter === undefined) throw invalidCredentials()
      const session = await db.write(async (tx) => {
        const operator = await lockOperatorById(tx, row.operator)
        if (operator?.disabled !== 0) throw invalidCredentials()
        if ((await usePasskey(tx, row, counter, clock.now())) === 0) throw invalidCredentials()
        const { id, email } = operator
        return openSession(tx, call, { operator: id, link: null, email, isVerified: true })
      })
      return answerWith(call, session)
    }),
  ]
}
