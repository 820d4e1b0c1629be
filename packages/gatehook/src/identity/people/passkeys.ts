/**
 * Passkeys of persons (§16.12): enrolment in a recent first-party session, sign-in, list, deletion.
 * A reset of the password deletes them: the person may have lost the device.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { type Call, json, noContent, type Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { createList } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { Administration } from '../access/administration.ts'
import { LOGIN_CLIENT_ID, type Tokens } from '../tokens/api.ts'
import { findSession } from '../tokens/store.ts'
import type { SignInApi } from './login.ts'
import { CEREMONY_MS, type PasskeyCeremonies } from './passkey-ceremony.ts'
import { passkey, passkeyOperations } from './passkey-operations.ts'
import * as store from './passkey-store.ts'
import type { PersonContext } from './person-administration.ts'
import { type CredentialRow, findById, lockCredential } from './store.ts'
import { invalidCredentials } from './username.ts'

const REALM = 'person'
/** Passkeys of a person. */
const MAX_PASSKEYS = 20

const passkeys = createList({
  row: passkey,
  path: '/auth/passkeys',
  name: 'passkeys',
  table: 'gh_passkeys',
  scoped: true,
  owner: 'person',
  filter: ['created_at'],
  sort: ['id', 'created_at'],
  indexes: [
    ['person', 'id'],
    ['person', 'created_at', 'id'],
  ],
})

interface PasskeyDeps {
  readonly admin: Administration
  readonly ceremonies: PasskeyCeremonies
  readonly people: Pick<SignInApi, 'findPerson' | 'confirm' | 'recordSignIn'>
  readonly tokens: Pick<Tokens, 'openSession'>
  readonly outbox: MailOutbox
  readonly context: Pick<PersonContext, 'directory'>
  readonly list: Lister
}

/** Throws 403 unless the password, or a passkey, was used for the session within 5 minutes. */
async function requireRecentSignIn(
  { admin }: PasskeyDeps,
  call: Call,
  from: Reader,
  account: CredentialRow,
): Promise<void> {
  const { sessionId, revision } = call.principal!
  // Basic sends the password with the request; this node may not know yet that it was replaced.
  if (sessionId === undefined && revision === account.revision) return
  const session = sessionId === undefined ? undefined : await findSession(from, sessionId)
  const isLogin = session?.client_id === LOGIN_CLIENT_ID
  const at = session?.authenticated_at ?? (isLogin ? session.created_at : undefined)
  if (at === undefined || admin.clock.now() - at > CEREMONY_MS) {
    throw new Failure('recent_sign_in_required')
  }
}

function enrolmentRoutes(deps: PasskeyDeps): Route[] {
  const { admin, ceremonies, outbox, context } = deps
  const { db, clock, random } = admin
  const { resource, hasMailNames } = context.directory
  const userIdOf = (call: Call) => `${resource} ${call.principal!.subject}`

  return [
    implement(passkeyOperations.createOptions, async (call) => {
      const id = Number(call.principal!.subject)
      const account = await findById(db, resource, id)
      if (!account) throw new Failure('forbidden')
      await requireRecentSignIn(deps, call, db, account)
      const user = { id: userIdOf(call), name: account.username, begunBy: account.revision }
      const existing = await store.listPasskeys(db, resource, id)
      const options = await ceremonies.beginCreation(user, existing)
      return json(200, options, { 'cache-control': 'no-store' })
    }),

    implement(passkeyOperations.create, async (call, input) => {
      const { subject, scope } = call.principal!
      const person = Number(subject)
      const account = await findById(db, resource, person)
      if (!account) throw new Failure('forbidden')
      await requireRecentSignIn(deps, call, db, account)
      const user = { id: userIdOf(call), begunBy: account.revision }
      const created = await ceremonies.verifyCreation(user, input)
      if (!created) {
        throw new Failure('invalid_request', 'The passkey does not match its options: begin again.')
      }
      const created_at = clock.now()
      const id = createTimeOrderedId('psk_', created_at, random)
      await db.write(async (tx) => {
        const credential = await lockCredential(tx, resource, person)
        if (credential?.disabled !== 0) throw new Failure('forbidden')
        if (credential.revision !== account.revision) throw new Failure('recent_sign_in_required')
        await requireRecentSignIn(deps, call, tx, credential)
        const { length } = await store.listPasskeys(tx, resource, person)
        const row = { ...created, id, resource, person, scope, created_at }
        if (length >= MAX_PASSKEYS || (await store.insertPasskey(tx, row)) === 0) {
          throw new Failure('conflict', `The passkey exists, or ${MAX_PASSKEYS} others do.`)
        }
        if (hasMailNames) {
          const payload = { email: credential.username }
          await outbox.enqueue(tx, 'passkey_added', { scope: credential.scope as Scope, payload })
        }
        await recordAudit(tx, { actor: actorOf(call), action: 'passkey.create', target: id }, admin)
      })
      return json(201, { id, created_at: isoTime(created_at), last_used_at: null })
    }),
  ]
}

export function passkeyRoutes(deps: PasskeyDeps): Route[] {
  const { admin, ceremonies, people, tokens, context, list } = deps
  const { db, clock } = admin
  const { resource } = context.directory
  return [
    ...enrolmentRoutes(deps),
    implement(passkeyOperations.list, (call) =>
      list(call, passkeys.collection, passkeys.view, { owner: Number(call.principal!.subject) }),
    ),
    implement(passkeyOperations.remove, async (call) => {
      const id = call.params.id!
      await db.write(async (tx) => {
        const row = { id, resource, person: Number(call.principal!.subject) }
        if ((await store.deletePasskey(tx, row)) === 0) throw new Failure('not_found')
        await recordAudit(tx, { actor: actorOf(call), action: 'passkey.delete', target: id }, admin)
      })
      return noContent()
    }),
    implement(passkeyOperations.signInOptions, async () =>
      json(200, await ceremonies.beginSignIn(REALM), { 'cache-control': 'no-store' }),
    ),
    implement(passkeyOperations.signIn, async (call, input) => {
      const row = await store.findPasskey(db, resource, input.id)
      const counter = row && (await ceremonies.verifySignIn(REALM, input, row))
      if (!row || counter === undefined) throw invalidCredentials()
      const person = await people.findPerson(db, row.scope as Scope, String(row.person))
      if (!person) throw invalidCredentials()
      if (person.suspended) throw new Failure('customer_suspended')
      const open = async (tx: Tx, session_id: string) => {
        const current = await people.confirm(tx, person)
        if ((await store.usePasskey(tx, row, counter, clock.now())) === 0)
          throw invalidCredentials()
        await people.recordSignIn(tx, person)
        const { scope, customer, mode, subject, name, scopes, claims } = current
        const actor = actorOf(call, { kind: 'person', id: subject, name, scope })
        const detail = { session_id, customer, mode, passkey: row.id }
        await recordAudit(tx, { actor, action: 'person.login', target: subject, detail }, admin)
        return { scope, customer, mode, clientId: LOGIN_CLIENT_ID, subject, scopes, claims }
      }
      const session = await tokens.openSession(open)
      const { customer, mode, subject } = person
      call.identified = { kind: 'person', subject, clientId: LOGIN_CLIENT_ID, customer, mode }
      return respond(passkeyOperations.signIn, session, { pragma: 'no-cache' })
    }),
  ]
}
