/**
 * Administration of people (§13, §6.8): create, read, update, set a password. Each change is one
 * transaction that also records its audit row; passwords are hashed before it begins.
 */

import { recordAudit } from '../../history/audit/store.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { modeOf, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { invalidMembers, readMembers } from '../../protocol/fields/body.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import type { AdminCaller, Administration } from '../access/administration.ts'
import { mode } from '../access/collections.ts'
import { customerIdOf, findCustomerIdOf } from '../access/customer-reader.ts'
import {
  findMisplacedScope,
  holdCustomerScope,
  scopeSet,
  unknownCustomer,
} from '../access/grant-validation.ts'
import { findCustomer } from '../access/store.ts'
import { rejectTakenName } from './credential-sync.ts'
import {
  type AssertedIdentity,
  identitiesInput,
  losesIdentity,
  readIdentities,
  storeIdentities,
} from './identities.ts'
import { personAccountKey } from './login.ts'
import { namespaceOf } from './namespace.ts'
import type { Hasher } from './password.ts'
import {
  findPasswordError,
  MIN_LENGTH,
  newPassword,
  rejectCommonPassword,
} from './password-policy.ts'
import { type Directory, type DirectoryRow, nameOf, parseScopes } from './person.ts'
import { replacePassword, type SignOutDeps, signOutEverywhere } from './sign-out.ts'
import * as store from './store.ts'

/** The longest role and the longest name of a customer, in characters. */
const WORD_MAX = 200

/** The first revision of a credential is random; each change adds one. */
const REVISION_BYTES = 6

/** The dependencies of operations on people. */
export interface PersonContext extends SignOutDeps {
  readonly directory: Directory
  readonly hasher: Hasher
  /** The scopes of a person to whom no scopes were granted. */
  readonly defaultScopes: readonly string[]
}

/** A person as `/admin` returns it: the row with its credential. */
type PersonJson = DirectoryRow & {
  readonly id: number
  readonly role: string | null
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly identities: readonly AssertedIdentity[]
}

const toJson = (
  directory: Directory,
  row: DirectoryRow,
  credential: store.CredentialRow,
  identities: readonly AssertedIdentity[],
): PersonJson => ({
  ...directory.show(row),
  id: credential.id,
  role: credential.role,
  scopes: parseScopes(credential),
  disabled: credential.disabled !== 0,
  customer: credential.customer,
  mode: credential.mode,
  identities,
})

/** Throws 422 if `admin` is granted outside of the default customer's live mode (§13). */
function rejectMisplacedAdmin(scopes: readonly string[], customer: string, mode: string): void {
  const scopeError = findMisplacedScope('people', scopes, customer, mode)
  if (scopeError) throw invalidMembers([scopeError])
}

const password = newPassword(MIN_LENGTH.person)
export const passwordInput = { password }

/** The members of a new person's credential; the body also has those of the row. */
export const credentialCreation = (admin: Pick<Administration, 'scopes'>) => ({
  password,
  role: b.line(WORD_MAX).nullable().optional().describe('A claim of tokens.'),
  scopes: scopeSet(admin)
    .optional()
    .describe('Default: every scope of a person that no declaration reserves.'),
  customer: b
    .line(WORD_MAX)
    .optional()
    .describe('The id of a customer, or `default`; default: the customer of the caller.'),
  mode: mode.optional().describe('Default `live`.'),
})

/** Reads the members of the credential and of the row; throws 422 with the errors of both. */
async function readCreation(admin: Administration, directory: Directory, input: unknown) {
  const members = credentialCreation(admin)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidMembers([{ pointer: '', code: 'invalid_value', message: 'must be an object' }])
  }
  const entries = Object.entries(input)
  const isCredentialMember = (name: string) => Object.hasOwn(members, name)
  const isRowMember = (name: string) => name !== 'password' && Object.hasOwn(directory.fields, name)
  const credentialEntries = entries.filter(([name]) => isCredentialMember(name))
  const rowEntries = entries.filter(([name]) => !isCredentialMember(name) || isRowMember(name))
  const errors: FieldError[] = []
  const collectErrors = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Failure) || !error.errors) throw error
      errors.push(...error.errors)
      return undefined
    }
  }
  const credential = collectErrors(() =>
    readMembers(Object.fromEntries(credentialEntries), members),
  )
  const values = collectErrors(() => directory.values(Object.fromEntries(rowEntries)))
  const username = String(values?.[directory.username] ?? '')
  if (credential && values) {
    const error = await findPasswordError(credential.password, username, '/password')
    if (error) errors.push(error)
  }
  if (!credential || !values || errors.length > 0) throw invalidMembers(errors)
  return { credential, values, username }
}

/**
 * Creates a person who can sign in, from the row's fields and `{password, role?, scopes?,
 * customer?, mode?}`. Throws 422 `validation_failed`, 409 `conflict` for a sign-in name in use.
 */
export async function createPerson(
  admin: Administration,
  context: PersonContext,
  input: unknown,
  { actor, customer: callerCustomer }: AdminCaller,
): Promise<PersonJson> {
  const { directory } = context
  const { credential, values, username } = await readCreation(admin, directory, input)
  const customer = await customerIdOf(admin.db, credential.customer ?? callerCustomer)
  const { mode = 'live', role = null, scopes = context.defaultScopes } = credential
  rejectMisplacedAdmin(scopes, customer, mode)
  const customerRow = await findCustomer(admin.db, customer)
  if (!customerRow) throw unknownCustomer()
  const namespace = namespaceOf(directory.names, scopeOf(customerRow.no, mode))
  const password = await context.hasher.hash(
    credential.password,
    personAccountKey(namespace, username),
  )
  return admin.write(async (tx) => {
    const scope = await holdCustomerScope(tx, customer, mode)
    const row = await directory.create(tx, scope, values)
    const newCredential = { customer, mode, password, role, scopes, confirmed: 1 }
    const credential = await insertCredential(tx, admin, context, scope, row, newCredential)
    const detail = { customer, mode, role, scopes }
    const entry = { actor, action: 'person.create', target: String(credential.id), detail }
    await recordAudit(tx, { ...entry, scope }, admin)
    return toJson(directory, row, credential, [])
  })
}

/** Returns a person. Throws 404, also for a row that cannot sign in. */
export async function readPerson(
  from: Reader,
  { directory }: Pick<PersonContext, 'directory'>,
  id: number,
): Promise<PersonJson> {
  const credential = await store.findById(from, directory.resource, id)
  const row = credential && (await directory.find(from, credential.scope as Scope, id))
  if (!row) throw new Failure('not_found')
  return toJson(directory, row, credential, await readIdentities(from, credential))
}

export const personPatch = (admin: Pick<Administration, 'scopes'>) => ({
  role: b.line(WORD_MAX).nullable().optional(),
  scopes: scopeSet(admin).optional(),
  disabled: b.bool().optional(),
  identities: identitiesInput.optional(),
})
export type PersonPatch = ValuesOf<ReturnType<typeof personPatch>>

/**
 * Updates the credential of a person. The sessions of a person who is disabled, gets another
 * role, or loses a scope or an identity, end at once. Throws 404, 422, 409 `conflict`.
 */
export async function updatePerson(
  admin: Administration,
  context: PersonContext,
  id: number,
  patch: PersonPatch,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<PersonJson> {
  const { directory } = context
  return admin.write(async (tx) => {
    const before = await store.lockCredential(tx, directory.resource, id)
    const scope = before?.scope as Scope
    const row = before && (await directory.find(tx, scope, id))
    if (!before || !row) throw new Failure('not_found')
    const scopes = patch.scopes ?? parseScopes(before)
    if (patch.scopes) rejectMisplacedAdmin(scopes, before.customer, before.mode)
    const after = {
      ...before,
      role: patch.role === undefined ? before.role : patch.role,
      scopes: JSON.stringify(scopes),
      disabled: patch.disabled === undefined ? before.disabled : Number(patch.disabled),
    }
    const storedIdentities = await readIdentities(tx, before)
    const { identities = storedIdentities } = patch
    if (patch.identities) await storeIdentities(tx, before, identities)
    const losesScope = parseScopes(before).some((name) => !scopes.includes(name))
    const losesPower = losesScope || losesIdentity(storedIdentities, identities)
    if (losesPower || after.role !== before.role || after.disabled > before.disabled) {
      await signOutEverywhere(tx, context, after)
    } else {
      await store.updateCredential(tx, after)
      tx.afterCommit(() => context.evict(id))
    }
    const entry = { actor, action: 'person.update', target: String(id), scope, detail: patch }
    await recordAudit(tx, entry, admin)
    return toJson(directory, row, after, await readIdentities(tx, before))
  })
}

/**
 * Sets a password; the person's sessions end. A row without a credential gets
 * one, with the default scopes. Throws 404, 422, 409 `conflict` if another row signs in with its
 * name.
 */
export async function setPassword(
  admin: Administration,
  context: PersonContext,
  id: number,
  body: ValuesOf<typeof passwordInput>,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> {
  const { directory, defaultScopes: scopes } = context
  const scope = await directory.scopeOf(admin.db, id)
  const row = scope === undefined ? undefined : await directory.find(admin.db, scope, id)
  if (scope === undefined || !row) throw new Failure('not_found')
  const name = String(row[directory.username] ?? '')
  const namespace = namespaceOf(directory.names, scope)
  await rejectCommonPassword(body.password, name, '/password')
  const password = await context.hasher.hash(body.password, personAccountKey(namespace, name))
  await admin.write(async (tx) => {
    const credential = await store.lockCredential(tx, directory.resource, id)
    if (credential) {
      await replacePassword(tx, context, credential, password)
    } else {
      const row = await directory.find(tx, scope, id)
      if (!row) throw new Failure('not_found')
      const customer = (await findCustomerIdOf(tx, scope))!
      const common = { customer, mode: modeOf(scope), password, role: null, scopes }
      // Another caller may have set the name of the row: the administrator did not type it.
      const newCredential = { ...common, confirmed: 0 }
      await insertCredential(tx, admin, context, scope, row, newCredential)
    }
    await recordAudit(tx, { actor, action: 'person.password', target: String(id), scope }, admin)
  })
}

export interface NewCredential
  extends Pick<store.CredentialRow, 'customer' | 'mode' | 'password' | 'role' | 'confirmed'> {
  readonly scopes: readonly string[]
}

/** Stores the credential of a row. Throws 409 `conflict` for a sign-in name in use. */
export async function insertCredential(
  tx: Tx,
  { clock, random }: Administration,
  { directory, evict }: PersonContext,
  scope: Scope,
  row: DirectoryRow,
  newCredential: NewCredential,
): Promise<store.CredentialRow> {
  const { resource, username } = directory
  const name = row[username]
  if (typeof name !== 'string' || name === '') {
    const message = 'is needed to sign in'
    throw invalidMembers([{ pointer: `/${username}`, code: 'required', message }])
  }
  const credential = {
    ...newCredential,
    resource,
    id: row.id as number,
    scope,
    name: nameOf(row),
    username: name,
    folded: foldName(name),
    namespace: namespaceOf(directory.names, scope).no,
    scopes: JSON.stringify(newCredential.scopes),
    created_at: clock.now(),
    // A row can lose its credential and get a new one: no session of the former one continues.
    revision: random.bytes(REVISION_BYTES).readUIntBE(0, REVISION_BYTES),
  }
  await rejectTakenName(username, () => store.insertCredential(tx, credential))
  tx.afterCommit(() => evict(credential.id))
  return { ...credential, disabled: 0 }
}
