/**
 * The people of a service: who signs in, who they are, what other rooms ask about them. Without a
 * resource that `.signsIn()` nobody does, and there are no paths for it.
 */

import type { Administration } from '../access/administration.ts'
import type { CredentialVerifier } from '../access/authenticate.ts'
import { type Actor, recordAudit } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import { BASIC_CHALLENGE } from '../http/authorization.ts'
import type { Route } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import { createBackgroundTasks } from '../kernel/background.ts'
import type { Log } from '../kernel/log.ts'
import type { LookupCache } from '../kernel/lookup-cache.ts'
import { createLookupCache } from '../kernel/lookup-cache.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Lister } from '../lists/list.ts'
import type { Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { type Basic, createBasic, type Standing } from './basic.ts'
import type { ActDeps } from './credential.ts'
import type { Devices } from './devices.ts'
import type { Hasher } from './password.ts'
import { type ClaimsHook, type Directory, principalOf, refuseSuspended } from './person.ts'
import { createQuestions, judging, type Questions } from './questions.ts'
import type { RecognizedClients } from './recognized-clients.ts'
import { personRoutes, signInRoutes } from './routes.ts'
import { createJudge, type Judge } from './sign-in.ts'
import * as store from './store.ts'
import { createThrottle, purgeThrottle, type Refusal } from './throttle.ts'
import { invalidCredentials } from './username.ts'

export interface People extends Questions {
  /** §3.4. */
  readonly basic: CredentialVerifier
  /** Whom a Basic credential proved lately: hashes nothing, asks nobody; throws for others. */
  readonly known: CredentialVerifier
  /** What the acts of this room take; undefined where nobody signs in. */
  readonly acts: ActDeps | undefined
  /** A row that signs in changed on this node. */
  readonly forget: (id: number) => void
  readonly routes: readonly Route[]
  readonly chores: Readonly<Record<string, () => Promise<number>>>
  stop(): Promise<void>
}

export interface PeopleDeps {
  readonly admin: Administration
  readonly vault: Vault
  readonly log: Log
  readonly record: RecordEvent
  readonly perform: Perform
  readonly list: Lister
  readonly tokens: Pick<Tokens, 'openSession' | 'revokeSessionsOfPerson'>
  readonly hasher: Hasher
  readonly devices: Devices
  /** Undefined where no resource signs in. */
  readonly directory: Directory | undefined
  readonly claims: ClaimsHook | undefined
  readonly defaultScopes: readonly string[]
  /** `GATEHOOK_BASIC_ALLOWED_CIDRS`. */
  readonly basicFrom: readonly string[]
}

/** Judges passwords, and tells the trail and the webhooks where somebody is refused (§3.8). */
export function createSignIn(
  {
    admin,
    vault,
    hasher,
    record,
    directory,
  }: Pick<PeopleDeps, 'admin' | 'vault' | 'hasher' | 'record' | 'directory'>,
  recognizedClients: RecognizedClients,
): Judge {
  const tell = async (tx: Tx, { by, realm, username, address, retryAfterS }: Refusal) => {
    const account =
      directory && realm === 'person'
        ? await store.findByName(tx, directory.resource, username)
        : undefined
    // Names nobody has are not written down: what was typed there may be a password.
    const target = by === 'address' ? address : account ? String(account.id) : 'unknown'
    const detail = { by, realm, address, retry_after_s: retryAfterS }
    const actor: Actor = { kind: 'system', id: 'throttle', address }
    await recordAudit(tx, { actor, action: 'login.throttled', target, detail }, admin)
    if (!account || by !== 'account') return
    const object = { id: account.id, username: account.username, ...detail }
    await record(tx, account.scope as Scope, {
      type: 'login.throttled',
      collection: undefined,
      objectId: undefined,
      object: JSON.stringify(object),
    })
  }
  const { db, clock } = admin
  const throttle = createThrottle({ db, clock, vault, tell })
  return createJudge({ vault, clock, hasher, throttle, recognizedClients })
}

export function createPeople(
  deps: PeopleDeps,
  judge: Judge,
  recognizedClients: RecognizedClients,
): People {
  const { db, clock } = deps.admin
  const chores = {
    throttle: () => purgeThrottle(db, clock.now()),
    'recognized clients': () => recognizedClients.purge(),
  }
  if (!deps.directory) return { ...nobody(), chores }
  const { directory } = deps
  const background = createBackgroundTasks(deps.log)
  const accounts = createLookupCache({
    load: async (id: number): Promise<Standing | undefined> => {
      const row = await store.findById(db, directory.resource, id)
      if (row?.disabled !== 0) return undefined
      const [principal, check] = [principalOf(row), () => refuseSuspended(row)]
      return { principal, revision: row.revision, check }
    },
    clock,
    runInBackground: (work) => background.add(work, 'looking up a person failed'),
  })
  const acts: ActDeps = { ...deps, directory, changed: accounts.evict }
  const asked = createQuestions(deps.admin, acts, judge, deps.claims)
  const basic = basicOf(deps, accounts, directory, judge)
  const routeDeps = { ...deps, people: asked, acts }
  return {
    ...asked,
    basic: basic.verify,
    known: basic.known,
    acts,
    forget: accounts.evict,
    routes: [...signInRoutes(routeDeps), ...personRoutes(routeDeps)],
    chores,
    stop: background.idle,
  }
}

function basicOf(
  { admin, vault, basicFrom }: PeopleDeps,
  accounts: LookupCache<number, Standing>,
  { resource }: Directory,
  judge: Judge,
): Basic {
  const how = judging(admin.db, resource)
  return createBasic({
    vault,
    clock: admin.clock,
    from: basicFrom,
    accounts,
    signIn: (username, password, address) => judge(how, username, password, { address }),
  })
}

/** Nobody has a password, so none is right. */
function nobody(): Omit<People, 'chores'> {
  const refuse = () => {
    throw invalidCredentials()
  }
  return {
    signIn: async () => refuse(),
    confirm: async () => refuse(),
    person: async () => undefined,
    changeOwnPassword: async () => refuse(),
    basic() {
      throw invalidCredentials(BASIC_CHALLENGE)
    },
    known: refuse,
    acts: undefined,
    forget: () => undefined,
    routes: [],
    stop: async () => undefined,
  }
}
