/**
 * The people of a service: their sign-in, Basic authentication and administration. A service in
 * which no resource calls `.signsIn()` has no people and none of these paths.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import { createBackgroundTasks } from '../../kernel/background.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import { createLookupCache } from '../../kernel/lookup-cache.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { MailTemplates } from '../../platform/mail/mailer.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import { BASIC_CHALLENGE } from '../../protocol/http/authorization.ts'
import type { Route } from '../../protocol/http/call.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { Administration } from '../access/administration.ts'
import type { CredentialVerifier } from '../access/authenticate.ts'
import type { Tokens } from '../tokens/api.ts'
import { accountMailRoutes, accountMailTemplates } from './account-mail-routes.ts'
import { type BasicAccount, createBasic, PLACE_HEADERS } from './basic.ts'
import type { Devices } from './devices.ts'
import {
  createPasswordVerifier,
  createSignInApi,
  peopleAccounts,
  type SignInApi,
  type VerifyPassword,
} from './login.ts'
import type { MailWording } from './mail-texts.ts'
import { findNamespace } from './namespace.ts'
import type { PasskeyCeremonies } from './passkey-ceremony.ts'
import { passkeyRoutes } from './passkeys.ts'
import type { Hasher } from './password.ts'
import { type ClaimsHook, type Directory, toPrincipal } from './person.ts'
import { type PersonPatch, updatePerson } from './person-administration.ts'
import type { RecognizedClients } from './recognized-clients.ts'
import { personRoutes, signInRoutes } from './routes.ts'
import { signOutEverywhere } from './sign-out.ts'
import * as store from './store.ts'
import { mailTokens, throttle } from './tables.ts'
import { createThrottle, type ThrottleDeps } from './throttle.ts'
import { invalidCredentials } from './username.ts'

export interface People extends SignInApi {
  /** Verifies Basic credentials (§3.4). */
  readonly verifyBasic: CredentialVerifier
  /** Verifies cached Basic credentials only, without hashing a password; rejects all others. */
  readonly verifyCachedBasic: CredentialVerifier
  /** The headers in which a request with Basic credentials names customer and mode (§4.8). */
  readonly placeHeaders: readonly string[]
  /** Evicts the cached verifications of a person. */
  readonly evict: (id: number) => void
  /** Ends everything in which a person is signed in; returns the number of ended sessions. */
  readonly signOutEverywhere: (tx: Tx, id: number) => Promise<number>
  /** Repeats an update of the audit trail on restored data (§18.5). Throws 404. */
  readonly repeatUpdate: (id: number, patch: PersonPatch, actor: Actor) => Promise<unknown>
  readonly routes: readonly Route[]
  /** The mail to people by kind. */
  readonly mailTemplates: MailTemplates
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  stop(): Promise<void>
}

interface PeopleDeps {
  readonly admin: Administration
  readonly vault: Vault
  readonly log: Log
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Pick<Tokens, 'openSession' | 'revokeSession' | 'revokeSessionsOfPerson'>
  readonly hasher: Hasher
  readonly devices: Devices
  readonly outbox: MailOutbox
  readonly ceremonies: PasskeyCeremonies
  readonly wording: MailWording
  /** Undefined if no resource signs in. */
  readonly directory: Directory | undefined
  readonly claims: ClaimsHook | undefined
  readonly defaultScopes: readonly string[]
  /** `GATEHOOK_BASIC_ALLOWED_CIDRS`. */
  readonly basicAllowedCidrs: readonly string[]
}

type SignInVerifierDeps = Pick<PeopleDeps, 'admin' | 'vault' | 'hasher' | 'record' | 'directory'>

/** The member of audit rows and events that names the limit. */
const LIMIT_MEMBER = 'by'

/**
 * Creates the verifier of the passwords of people and operators. The throttle records each limit
 * that is reached as an audit row, and as an event of the person's customer (§3.8).
 */
export function createSignInVerifier(
  { admin, vault, hasher, record, directory }: SignInVerifierDeps,
  recognizedClients: RecognizedClients,
): VerifyPassword {
  const { db, clock } = admin
  const report: ThrottleDeps['report'] = async (tx, throttled) => {
    const { realm, namespace, username, address, requestId, limit, retryAfterS } = throttled
    const account =
      directory && realm === 'person'
        ? await store.findByName(tx, directory.resource, namespace.no, username)
        : undefined
    // An unknown name is not stored: it may be a password typed into the wrong field.
    const accountTarget = account ? String(account.id) : 'unknown'
    const target = limit === 'address' ? address : accountTarget
    const detail = { [LIMIT_MEMBER]: limit, realm, address, retry_after_s: retryAfterS }
    const actor: Actor = { kind: 'system', id: 'throttle', address, requestId }
    const scope = account?.scope
    await recordAudit(tx, { actor, action: 'login.throttled', target, scope, detail }, admin)
    if (!account || limit !== 'account') return
    const object = { id: account.id, username: account.username, ...detail }
    await record(tx, account.scope as Scope, {
      type: 'login.throttled',
      collection: undefined,
      objectId: undefined,
      object: JSON.stringify(object),
    })
  }
  const throttle = createThrottle({ db, clock, vault, report })
  return createPasswordVerifier({ vault, clock, hasher, throttle, recognizedClients })
}

export function createPeople(
  deps: PeopleDeps,
  verifyPassword: VerifyPassword,
  recognizedClients: RecognizedClients,
): People {
  const { admin, vault, directory, claims } = deps
  const { db, clock } = admin
  const chores = {
    throttle: () => purgeExpired(db, [throttle], clock.now()),
    'recognized clients': () => recognizedClients.purge(),
    'mail tokens': () => purgeExpired(db, [mailTokens], clock.now()),
  }
  if (!directory) return { ...withoutPeople(), chores }
  const background = createBackgroundTasks(deps.log)
  const accounts = createLookupCache({
    load: async (id: number): Promise<BasicAccount | undefined> => {
      const row = await store.findById(db, directory.resource, id)
      if (row?.disabled !== 0) return undefined
      const { revision, suspended } = row
      return { principal: toPrincipal(row), revision, suspended: suspended !== 0 }
    },
    clock,
    runInBackground: (work) => background.add(work, 'looking up a person failed'),
  })
  const { hasher, tokens, defaultScopes, devices, list, perform } = deps
  const context = { directory, hasher, tokens, defaultScopes, evict: accounts.evict }
  const accountMail = { admin, vault, outbox: deps.outbox, context }
  const signInApi = createSignInApi(admin, directory, verifyPassword, claims)
  const basic = createBasic({
    vault,
    clock,
    allowedRanges: deps.basicAllowedCidrs,
    accounts,
    names: directory.names,
    async signIn({ username, ...place }, password, client) {
      const namespace = await findNamespace(db, directory.names, place)
      const people = peopleAccounts(db, directory.resource, namespace)
      return verifyPassword(people, username, password, client)
    },
  })
  return {
    ...signInApi,
    verifyBasic: basic.verify,
    verifyCachedBasic: basic.verifyCached,
    placeHeaders: directory.names === 'customer' ? PLACE_HEADERS : [],
    evict: accounts.evict,
    async signOutEverywhere(tx, id) {
      const credential = await store.lockCredential(tx, directory.resource, id)
      return credential ? signOutEverywhere(tx, context, credential) : 0
    },
    repeatUpdate: (id, patch, actor) => updatePerson(admin, context, id, patch, { actor }),
    routes: [
      ...signInRoutes({ ...accountMail, people: signInApi, devices, tokens, verifyPassword }),
      ...accountMailRoutes({ ...accountMail, devices, verifyPassword }),
      ...passkeyRoutes({
        admin,
        ceremonies: deps.ceremonies,
        people: signInApi,
        tokens,
        outbox: deps.outbox,
        context,
        list,
      }),
      ...personRoutes(admin, context, { list, perform }),
    ],
    mailTemplates: accountMailTemplates(accountMail, deps.wording),
    chores,
    stop: background.idle,
  }
}

/** Returns the interface of a service without people: every password is wrong. */
function withoutPeople(): Omit<People, 'chores'> {
  const rejectPassword = () => {
    throw invalidCredentials()
  }
  const rejectBasic = () => {
    throw invalidCredentials(BASIC_CHALLENGE)
  }
  return {
    names: 'installation',
    signIn: async () => rejectPassword(),
    confirm: async () => rejectPassword(),
    recordSignIn: async () => undefined,
    findPerson: async () => undefined,
    findAsserted: async () => undefined,
    verifyBasic: rejectBasic,
    verifyCachedBasic: rejectBasic,
    placeHeaders: [],
    evict: () => undefined,
    signOutEverywhere: async () => 0,
    repeatUpdate: async () => {
      throw new Failure('not_found')
    },
    routes: [],
    mailTemplates: {},
    stop: async () => undefined,
  }
}
