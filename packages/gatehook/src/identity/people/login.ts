/**
 * Login with a name and a password, in the order in which it happens (§3.8, §4.3):
 *
 * 1. `login` reads the body of `POST /auth/login` and identifies the client. A name or a password
 *    that is too long for any account goes no further.
 * 2. The throttle rejects an account or an address with too many failures.
 * 3. The password waits for a hashing thread. The throttle records the attempt, then it is hashed.
 * 4. An operator of the console also gives a second factor.
 * 5. `login` opens a session, records its audit row and returns the tokens.
 *
 * Basic credentials, the sign-in page of OAuth and the console share steps 2 to 4.
 */

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { addressBlock } from '../../kernel/address.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { runTogether } from '../../platform/storage/together.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { respond } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import { LOGIN_CLIENT_ID, type Tokens } from '../tokens/api.ts'
import type { Devices } from './devices.ts'
import { type AssertedIdentity, findIdentified } from './identities.ts'
import {
  findNamespace,
  INSTALLATION,
  type NameReach,
  type Namespace,
  namespaceOf,
  type SignInPlace,
} from './namespace.ts'
import type { Hasher } from './password.ts'
import { type ClaimsHook, type Directory, loadPerson, type Person, toPerson } from './person.ts'
import type { ClientAccount, RecognizedClients, SignInClient } from './recognized-clients.ts'
import { canExist } from './sign-in-bounds.ts'
import type { LoginInput, SignInOperations } from './sign-in-operations.ts'
import * as store from './store.ts'
import { type AttemptIdentity, type Throttle, tooManyFailures } from './throttle.ts'
import { invalidCredentials, normalizePassword } from './username.ts'

export interface LoginDeps {
  readonly admin: Administration
  readonly people: SignInApi
  readonly devices: Devices
  readonly tokens: Pick<Tokens, 'openSession'>
  readonly operation: SignInOperations['login']
}

/** Handles `POST /auth/login`. */
export async function login(
  call: Call,
  { username, password, customer: id, mode: sentMode }: LoginInput,
  { admin, people, devices, tokens, operation }: LoginDeps,
): Promise<Answer> {
  const name = { username, customer: id, mode: sentMode }
  const person = await people.signIn(name, password, devices.clientOf(call))
  const session = await tokens.openSession(async (tx, session_id) => {
    const current = await people.confirm(tx, person)
    await people.recordSignIn(tx, person)
    const { scope, customer, mode, subject, name, scopes, claims } = current
    const actor = actorOf(call, { kind: 'person', id: subject, name, scope })
    const detail = { session_id, customer, mode }
    await recordAudit(tx, { actor, action: 'person.login', target: subject, detail }, admin)
    return { scope, customer, mode, clientId: LOGIN_CLIENT_ID, subject, scopes, claims }
  })
  const { customer, mode, subject } = person
  call.identified = { kind: 'person', subject, clientId: LOGIN_CLIENT_ID, customer, mode }
  return respond(operation, session, { pragma: 'no-cache' })
}

/** A sign-in name, and the customer and mode in which a request signs in. */
export interface SignInName extends SignInPlace {
  readonly username: string
}

/** A person at an earlier instant. */
export type ConfirmedPerson = Pick<Person, 'id' | 'scope' | 'revision'>

/** The sign-in of people, as login, Basic and OAuth use it. */
export interface SignInApi {
  /** The rows among which a sign-in name is unique (§4.8). */
  readonly names: NameReach
  /**
   * Returns the person of a name and a password. Throws `invalid_credentials`, `rate_limited`,
   * `overloaded`, `customer_suspended`, `customer_required`.
   */
  signIn(name: SignInName, password: string, client: SignInClient): Promise<Person>
  /**
   * Prevents the change of a person in the transaction that grants a session or a code; other
   * grants do not wait. Throws `invalid_credentials` if password, name, role or scopes changed
   * since `signIn`, or the customer was or is being deleted; `customer_suspended`.
   */
  confirm(tx: Tx, person: ConfirmedPerson): Promise<Person>
  /** Stores the instant of a sign-in with the password. */
  recordSignIn(tx: Tx, person: Pick<Person, 'id'>): Promise<void>
  /** Returns a person, and whether its customer is suspended; undefined if deleted or disabled. */
  findPerson(
    reader: Reader,
    scope: Scope,
    subject: string,
  ): Promise<(Person & { readonly suspended: boolean }) | undefined>
  /**
   * Returns the person of a customer and mode that has a confirmed sign-in address, or an identity
   * at an issuer (§16.8); undefined if there is none, or it is disabled.
   */
  findAsserted(
    reader: Reader,
    scope: Scope,
    asserted: { readonly email: string } | AssertedIdentity,
  ): Promise<Person | undefined>
}

/** Creates the sign-in of people; `claims` is the hook of the service. */
export function createSignInApi(
  { db, clock }: Pick<Administration, 'db' | 'clock'>,
  directory: Directory,
  verifyPassword: VerifyPassword,
  claims: ClaimsHook | undefined,
): SignInApi {
  const { resource, names } = directory
  return {
    names,
    async signIn({ username, ...place }, password, client) {
      const accounts = peopleAccounts(db, resource, await findNamespace(db, names, place))
      const account = await verifyPassword(accounts, username, password, client)
      if (account.suspended !== 0) throw new Failure('customer_suspended')
      const person = await loadPerson(db, account, directory, claims)
      if (!person) throw invalidCredentials()
      return person
    },
    async confirm(tx, { id, scope, revision }) {
      const [credential, row] = await runTogether(
        tx,
        () => store.holdCredential(tx, resource, id),
        () => directory.find(tx, scope, id),
      )
      const isSame = credential?.revision === revision && credential.scope === scope
      const isActive = isSame && credential.disabled === 0 && credential.suspended !== null
      if (!row || !isActive) throw invalidCredentials()
      if (credential.suspended !== 0) throw new Failure('customer_suspended')
      return toPerson(credential, row, directory, claims)
    },
    async recordSignIn(tx, { id }) {
      await store.updateLastSignIn(tx, resource, id, clock.now())
    },
    async findPerson(reader, scope, subject) {
      const id = Number(subject)
      const [account, row] = await runTogether(
        reader,
        () => store.findById(reader, resource, id),
        () => directory.find(reader, scope, id),
      )
      if (account?.disabled !== 0 || account.scope !== scope) return undefined
      const person = row && toPerson(account, row, directory, claims)
      return person && { ...person, suspended: account.suspended !== 0 }
    },
    async findAsserted(reader, scope, asserted) {
      let account: store.AccountRow | undefined
      if (!('email' in asserted)) {
        const id = await findIdentified(reader, resource, scope, asserted)
        account = id === undefined ? undefined : await store.findById(reader, resource, id)
      } else if (directory.fields[directory.username]?.kind === 'email') {
        const { no } = namespaceOf(names, scope)
        const holder = await store.findByName(reader, resource, no, foldName(asserted.email))
        // An unconfirmed address may belong to another person.
        account = holder?.confirmed === 1 ? holder : undefined
      }
      if (account?.disabled !== 0 || account.scope !== scope) return undefined
      return loadPerson(reader, account, directory, claims)
    },
  }
}

interface StoredAccount extends ClientAccount {
  readonly disabled: number
}

/** The accounts against which a password is verified. */
interface AccountSource<A extends StoredAccount> {
  readonly realm: AttemptIdentity['realm']
  readonly namespace: Namespace
  readonly find: (foldedName: string) => Promise<A | undefined>
  /**
   * Verifies the second factor. The attempt counts as failed for `invalid_credentials`; for any
   * other failure it does not count.
   */
  readonly verifySecondFactor?: (account: A) => Promise<void>
}

export const peopleAccounts = (
  db: Administration['db'],
  resource: string,
  namespace: Namespace,
): AccountSource<store.AccountRow> => ({
  realm: 'person',
  namespace,
  find: (foldedName) => store.findByName(db, resource, namespace.no, foldedName),
})

/**
 * Returns the account of a name and a password. Throws `rate_limited`, `overloaded`, and the same
 * `invalid_credentials` for an unknown name, a wrong password and a disabled account.
 */
export type VerifyPassword = <A extends StoredAccount>(
  accounts: AccountSource<A>,
  username: string,
  password: string,
  client: SignInClient,
) => Promise<A>

interface PasswordVerifierDeps {
  readonly vault: Vault
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly hasher: Hasher
  readonly throttle: Throttle
  readonly recognizedClients: RecognizedClients
}

/** Returns the key of an account in the hash queue and in the hints of `Hasher`. */
const formatAccountKey = ({
  realm,
  namespace,
  username,
}: Pick<AttemptIdentity, 'realm' | 'namespace' | 'username'>): string =>
  JSON.stringify([realm, namespace.key, foldName(username)])

export const operatorAccountKey = (email: string): string =>
  formatAccountKey({ realm: 'operator', namespace: INSTALLATION, username: email })

export const personAccountKey = (namespace: Namespace, username: string): string =>
  formatAccountKey({ realm: 'person', namespace, username })

const isInvalidCredentials = (error: unknown): boolean =>
  error instanceof Failure && error.code === 'invalid_credentials'

const NO_ADDRESS = 'A sign-in with a password needs the address of the client.'

/**
 * Creates the function that finds an account and applies the throttle: it rejects before the
 * password waits for a thread. Logins of one address to one account are admitted in order.
 */
function createAdmission({ throttle, recognizedClients, clock }: PasswordVerifierDeps) {
  const reserveGuess = createSlowdown(clock)
  const inOrder = createArrivalOrder()
  return <A extends StoredAccount>(
    accounts: AccountSource<A>,
    identity: AttemptIdentity,
    client: SignInClient,
  ) =>
    inOrder(JSON.stringify([formatAccountKey(identity), identity.address]), async () => {
      // A mounted app whose application passes no address: guesses could not be limited (§17.4).
      if (identity.address === '') throw new Failure('forbidden', NO_ADDRESS)
      const { realm, username } = identity
      const account = await accounts.find(username)
      const { clientKey, remember } = await recognizedClients.find(realm, account, client)
      const attemptIdentity = { ...identity, clientKey }
      const { failures, isExhausted } = await throttle.check(attemptIdentity)
      const delayMs = isExhausted ? reserveGuess(clientKey!) : 0
      return { account, attemptIdentity, remember, failures, isExhausted, delayMs }
    })
}

/** Creates the function that verifies passwords: throttle, hash, second factor. */
export function createPasswordVerifier(deps: PasswordVerifierDeps): VerifyPassword {
  const { vault, hasher, throttle } = deps
  const key = vault.key('sign-in')
  const pendingVerifications = new Map<string, Promise<StoredAccount>>()
  const admit = createAdmission(deps)

  const verify = async <A extends StoredAccount>(
    accounts: AccountSource<A>,
    identity: AttemptIdentity,
    password: string | undefined,
    client: SignInClient,
  ): Promise<A> => {
    const { address } = identity
    const admission = await admit(accounts, identity, client)
    const { account, attemptIdentity, remember, failures, isExhausted, delayMs } = admission
    if (delayMs > 0) await sleep(delayMs)

    // Hash: also for an unknown name, so that it takes as long.
    const accountKey = formatAccountKey(identity)
    const isPreferred =
      (attemptIdentity.clientKey !== undefined && !isExhausted) ||
      (password !== undefined && hasher.isLikely(accountKey, password))
    const rank = isPreferred ? 0 : 1 + failures
    const priority = { rank, account: accountKey, address: addressBlock(address) }
    const { attempt, isCorrect } = await hasher.runInTurn(priority, async (verifyHash) => {
      const attempt = await throttle.begin(attemptIdentity)
      try {
        const isMatch = await verifyHash(password ?? '', account?.password)
        return { attempt, isCorrect: isMatch && password !== undefined }
      } catch (error) {
        await throttle.withdraw(attempt)
        throw error
      }
    })
    if (!account || !isCorrect || account.disabled !== 0) {
      throw isExhausted ? tooManyFailures(Math.ceil(SLOWDOWN_MS / 1000)) : invalidCredentials()
    }

    // Second factor.
    try {
      await accounts.verifySecondFactor?.(account)
    } catch (error) {
      if (!isInvalidCredentials(error)) await throttle.withdraw(attempt)
      throw error
    }

    hasher.learn(accountKey, password!)
    await throttle.recordSuccess(attempt, remember)
    return account
  }

  return async <A extends StoredAccount>(
    accounts: AccountSource<A>,
    username: string,
    password: string,
    client: SignInClient,
  ): Promise<A> => {
    if (!canExist(username, password)) throw invalidCredentials()
    const { realm, namespace, verifySecondFactor } = accounts
    const { address, device, requestId } = client
    const identity = { realm, namespace, username: foldName(username), address, requestId }
    const text = normalizePassword(password)
    if (verifySecondFactor) return verify(accounts, identity, text, client)
    // At its start, a program may send the same password many times at once. It is hashed once, and
    // the other requests do not count as failed attempts meanwhile.
    const guess = JSON.stringify([formatAccountKey(identity), password, address, device])
    const guessKey = createHmac('sha256', key).update(guess).digest('latin1')
    const pending = pendingVerifications.get(guessKey)
    if (!pending) {
      const verification = verify(accounts, identity, text, client).finally(() =>
        pendingVerifications.delete(guessKey),
      )
      pendingVerifications.set(guessKey, verification)
      return verification
    }
    try {
      return (await pending) as A
    } catch (error) {
      // A wrong password counts once for each request.
      if (isInvalidCredentials(error)) await throttle.begin(identity)
      throw error
    }
  }
}

/** The interval between two guesses of a recognized client that reached its limit. */
const SLOWDOWN_MS = 1500
/** Slowed clients that are stored at one time; the oldest is evicted. */
const MAX_SLOWED_CLIENTS = 10_000

/**
 * Slows down a recognized client that reached its limit, instead of locking it out (§3.8): one
 * guess in 1.5 s, and one that waits. The returned function reserves the next guess, returns its
 * delay in milliseconds, and throws `rate_limited` for a third one.
 */
function createSlowdown(clock: Pick<Clock, 'elapsedMs'>): (clientKey: string) => number {
  const nextGuessMs = new BoundedMap<string, number>(MAX_SLOWED_CLIENTS)
  return (clientKey) => {
    const now = clock.elapsedMs()
    const atMs = Math.max(nextGuessMs.get(clientKey) ?? 0, now)
    if (atMs - now > SLOWDOWN_MS) throw tooManyFailures(Math.ceil((atMs - now) / 1000))
    nextGuessMs.set(clientKey, atMs + SLOWDOWN_MS)
    return atMs - now
  }
}

/**
 * Returns a function that admits the logins of an address to an account one after the other, in the
 * order of their arrival: a later guess never takes the turn of a correct password before it.
 */
function createArrivalOrder() {
  /** The latest admission of each key that has one in progress. */
  const latest = new Map<string, Promise<unknown>>()
  return async <T>(key: string, admit: () => Promise<T>): Promise<T> => {
    const admission = latest.get(key)?.then(admit, admit) ?? admit()
    latest.set(key, admission)
    try {
      return await admission
    } finally {
      if (latest.get(key) === admission) latest.delete(key)
    }
  }
}
