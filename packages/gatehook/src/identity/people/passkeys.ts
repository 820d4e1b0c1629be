/**
 * Passkeys of persons (§16.12): enrolment in a recent first-party session, sign-in, list, deletion.
 * A reset of the password deletes them: the person may have lost the device.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Call, json, noContent, type Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { createList } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { Administration } from '../access/administration.ts'
import { LOGIN_CLIENT_ID, type Tokens } from '../tokens/api.ts'
import { findSession } from '../tokens/store.ts'
import type { SignInApi } from './login.ts'
import { CEREMONY_MS, invalidPasskey, type PasskeyCeremonies } from './passkey-ceremony.ts'
import { createPasskeyEnrolment, type EnrollingAccount } from './passkey-enrolment.ts'
import { passkey, passkeyOperations } from './passkey-operations.ts'
import * as store from './passkey-store.ts'
import type { PersonContext } from './person-administration.ts'
import { type CredentialRow, findById, lockCredential } from './store.ts'

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

/** Finds the person of a session that begins an enrolment. */
const createAccountFinder =
  (deps: PasskeyDeps) =>
  async (call: Call): Promise<EnrollingAccount> => {
    const { db } = deps.admin
    const { resource, hasMailNames } = deps.context.directory
    const { subject, scope } = call.principal!
    const person = Number(subject)
    const account = await findById(db, resource, person)
    if (!account) throw new Failure('forbidden')
    await requireRecentSignIn(deps, call, db, account)
    const { username: name, revision } = account
    const displayName = account.name ?? name
    return {
      user: { id: `${resource} ${subject}`, name, displayName, begunBy: revision },
      scope,
      list: (from) => store.listPasskeys(from, resource, person),
      insert: (tx, passkey) => store.insertPasskey(tx, { ...passkey, resource, person, scope }),
      async hold(tx) {
        const credential = await lockCredential(tx, resource, person)
        if (credential?.disabled !== 0) throw new Failure('forbidden')
        if (credential.revision !== revision) throw new Failure('recent_sign_in_required')
        await requireRecentSignIn(deps, call, tx, credential)
        return hasMailNames ? credential.username : undefined
      },
    }
  }

export function passkeyRoutes(deps: PasskeyDeps): Route[] {
  const { admin, ceremonies, people, tokens, context, list, outbox } = deps
  const { db, clock } = admin
  const { resource } = context.directory
  const enrolment = createPasskeyEnrolment({
    admin,
    ceremonies,
    outbox,
    findAccount: createAccountFinder(deps),
    mail: 'passkey_added',
    action: 'passkey.create',
  })
  return [
    implement(passkeyOperations.createOptions, enrolment.begin),
    implement(passkeyOperations.create, enrolment.finish),
    implement(passkeyOperations.list, (call) =>
      list(call, passkeys.collection, passkeys.view, { owner: Number(call.principal!.subject) }),
    ),
    implement(passkeyOperations.remove, async (call) => {
      const id = call.params.id!
      await writeFor(
        call,
        db,
      )(async (tx) => {
        const row = { id, resource, person: Number(call.principal!.subject) }
        if ((await store.deletePasskey(tx, row)) === 0) throw new Failure('not_found')
        await recordAudit(tx, { actor: actorOf(call), action: 'passkey.delete', target: id }, admin)
      })
      return noContent()
    }),
    implement(passkeyOperations.signInOptions, async () =>
      json(200, await ceremonies.beginSignIn(), { 'cache-control': 'no-store' }),
    ),
    implement(passkeyOperations.signIn, async (call, input) => {
      const find = (credential: string) => store.findPasskey(db, resource, credential)
      const { passkey: row, counter } = await ceremonies.verifySignIn(input, find)
      const person = await people.findPerson(db, row.scope as Scope, String(row.person))
      if (!person) throw invalidPasskey()
      if (person.suspended) throw new Failure('customer_suspended')
      const open = async (tx: Tx, session_id: string) => {
        const current = await people.confirm(tx, person)
        if ((await store.usePasskey(tx, row, counter, clock.now())) === 0) throw invalidPasskey()
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
