/**
 * Passkeys of operators (§16.12), under the session of the console. They count as passwords: a new
 * password and a reset of the second factor delete them, and an identity provider excludes them.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { insertInto, sql } from '../../platform/storage/sql.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
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
import { lockActiveOperator } from './operator-access.ts'
import { hasSession } from './operator-store.ts'
import { CEREMONY_MS, invalidPasskey, type PasskeyCeremonies } from './passkey-ceremony.ts'
import {
  type CreatedPasskey,
  createPasskeyEnrolment,
  type EnrollingAccount,
  passkeyJson,
} from './passkey-enrolment.ts'
import { operatorPasskeyOperations } from './passkey-operations.ts'

interface OperatorPasskeyRow extends Row, CreatedPasskey {
  readonly operator: string
  readonly last_used_at: number | null
}

const SELECT_PASSKEYS = sql`SELECT id, operator, credential, public_key, counter, transports,
  created_at, last_used_at FROM gh_operator_passkeys`

const listPasskeys = (from: Reader, operator: string) =>
  from.all<OperatorPasskeyRow>(sql`${SELECT_PASSKEYS} WHERE operator = ${operator} ORDER BY id`)

const findPasskey = (from: Reader, credential: string) =>
  from.get<OperatorPasskeyRow>(sql`${SELECT_PASSKEYS} WHERE credential = ${credential}`)

const insertPasskey = (tx: Tx, row: CreatedPasskey & { readonly operator: string }) =>
  tx.run(sql`${insertInto('gh_operator_passkeys', row)} ON CONFLICT (credential) DO NOTHING`)

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
  const { db, clock } = admin
  const operations = operatorPasskeyOperations

  const findAccount = async (call: Call): Promise<EnrollingAccount> => {
    const { id: session, operator, claims_read_at, created_at } = await requireSession(call)
    if (operator === null || claims_read_at !== null) {
      throw new Failure('invalid_state', 'Passkeys are for operators with a password.')
    }
    if (clock.now() - created_at > CEREMONY_MS) throw new Failure('recent_sign_in_required')
    const name = call.principal!.name ?? operator
    return {
      user: { id: operator, name, displayName: name, begunBy: session },
      scope: undefined,
      list: (from) => listPasskeys(from, operator),
      insert: (tx, passkey) => insertPasskey(tx, { ...passkey, operator }),
      async hold(tx) {
        const row = await lockActiveOperator(tx, operator, () => new Failure('forbidden'))
        // A new password ends the sessions in a transaction that locks the operator, too.
        if (!(await hasSession(tx, session))) throw new Failure('unauthorized')
        return isMailAddress(row.email) ? row.email : undefined
      },
    }
  }
  const enrolment = createPasskeyEnrolment({
    admin,
    ceremonies,
    outbox,
    findAccount,
    mail: 'operator_passkey_added',
    action: 'operator.passkey_create',
  })

  return [
    implement(operations.createOptions, enrolment.begin),
    implement(operations.create, enrolment.finish),

    implement(operations.list, async (call) => {
      const { operator } = await requireSession(call)
      const rows = operator === null ? [] : await listPasskeys(db, operator)
      return json(200, { data: rows.map((row) => passkeyJson(row, row.last_used_at)) })
    }),

    implement(operations.remove, async (call) => {
      const { operator } = await requireSession(call)
      const id = call.params.id!
      await writeFor(
        call,
        db,
      )(async (tx) => {
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
      return json(200, await ceremonies.beginSignIn(), { 'cache-control': 'no-store' })
    }),

    implement(operatorPasskeyOperations.signIn, async (call, input) => {
      requirePasswords(deps)
      const find = (credential: string) => findPasskey(db, credential)
      const { passkey: row, counter } = await ceremonies.verifySignIn(input, find)
      const session = await db.write(async (tx) => {
        const operator = await lockActiveOperator(tx, row.operator, invalidPasskey)
        if ((await usePasskey(tx, row, counter, clock.now())) === 0) throw invalidPasskey()
        return openSession(tx, call, { operator, isVerified: true })
      })
      return answerWith(call, session)
    }),
  ]
}
