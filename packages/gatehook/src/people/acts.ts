/**
 * What is done to people (§13, §6.8). Each act is one transaction with its line in the audit trail;
 * passwords are hashed before it begins.
 */
import type { AdminCaller, Administration } from '../access/administration.ts'
import { scopeSet } from '../access/grant-validation.ts'
import { recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import { bool, line, optional, orNull, readMembers, required } from '../kernel/members.ts'
import { modeOf, type Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import {
  type ActDeps,
  refuseAdmin,
  type ShownPerson,
  shown,
  WORD_MAX,
  writeCredential,
} from './credential.ts'
import { MIN_LENGTH, newPassword, refuseCommonPassword } from './password-policy.ts'
import { type Directory, scopesOf } from './person.ts'
import { hintName } from './sign-in.ts'
import * as store from './store.ts'

const change = (admin: Administration) => ({
  role: optional(orNull(line(WORD_MAX))),
  scopes: optional(scopeSet(admin)),
  disabled: optional(bool),
})

const passwordChange = { password: required(newPassword(MIN_LENGTH.person)) }

/**
 * A new password, from `{password}`; the person's sessions end. A row that had none can sign in
 * from then on, with the default scopes. Throws 404, 422, 409 `conflict` where another row with a
 * password has its sign-in name.
 */
export async function setPassword(
  admin: Administration,
  deps: ActDeps,
  id: number,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<void> {
  const wish = readMembers(input, passwordChange)
  const { directory } = deps
  const scope = await directory.scopeOf(admin.db, id)
  if (scope === undefined) throw new Failure('not_found')
  const name = await signInNameOf(admin.db, directory, scope, id)
  await refuseCommonPassword(wish.password, name, '/password')
  const password = await deps.hasher.hash(wish.password, hintName('person', name))
  await admin.write(async (tx) => {
    const kept = await store.lockCredential(tx, directory.resource, id)
    if (kept) await replacePassword(tx, deps, kept, password)
    else await firstPassword(tx, admin, deps, scope, id, password)
    await recordAudit(tx, { actor, action: 'person.password', target: String(id) }, admin)
  })
}

/** The name the row signs in with, or would. Throws 404. */
async function signInNameOf(
  from: Reader,
  directory: Directory,
  scope: Scope,
  id: number,
): Promise<string> {
  const row = await directory.find(from, scope, id)
  if (!row) throw new Failure('not_found')
  return String(row[directory.username] ?? '')
}

/** In the transaction of who asked: the password, and the end of what the old one opened. */
export async function replacePassword(
  tx: Tx,
  { tokens, changed }: ActDeps,
  kept: store.CredentialRow,
  password: string,
  except?: string,
): Promise<void> {
  await store.updateCredential(tx, { ...kept, password })
  await tokens.revokeSessionsOfPerson(tx, kept.scope as Scope, String(kept.id), except)
  tx.afterCommit(() => changed(kept.id))
}

async function firstPassword(
  tx: Tx,
  admin: Administration,
  deps: ActDeps,
  scope: Scope,
  id: number,
  password: string,
): Promise<void> {
  const row = await deps.directory.find(tx, scope, id)
  if (!row) throw new Failure('not_found')
  const mode = modeOf(scope)
  const customer = await ownerOf(tx, scope)
  const scopes = deps.defaultScopes
  const wanted = { customer, mode, password, role: null, scopes }
  await writeCredential(tx, admin, deps, scope, row, wanted)
}

const ownerOf = async (from: Reader, scope: Scope): Promise<string> =>
  (await store.customerOf(from, Math.floor(scope / 2)))!

/**
 * Changes `{role?, scopes?, disabled?}`. What is taken away takes effect at once: the sessions end
 * of who is disabled, has another role, or loses a scope. Throws 404, 422.
 */
export async function patchPerson(
  admin: Administration,
  deps: ActDeps,
  id: number,
  input: unknown,
  { actor }: Pick<AdminCaller, 'actor'>,
): Promise<ShownPerson> {
  const patch = readMembers(input, change(admin))
  const { directory, tokens } = deps
  return admin.write(async (tx) => {
    const before = await store.lockCredential(tx, directory.resource, id)
    const scope = before?.scope as Scope
    const row = before && (await directory.find(tx, scope, id))
    if (!before || !row) throw new Failure('not_found')
    const scopes = patch.scopes ?? scopesOf(before)
    if (patch.scopes) refuseAdmin(scopes, before.customer, before.mode)
    const after = {
      ...before,
      role: patch.role === undefined ? before.role : patch.role,
      scopes: JSON.stringify(scopes),
      disabled: patch.disabled === undefined ? before.disabled : Number(patch.disabled),
    }
    await store.updateCredential(tx, after)
    const lost = scopesOf(before).some((name) => !scopes.includes(name))
    if (lost || after.role !== before.role || after.disabled > before.disabled) {
      await tokens.revokeSessionsOfPerson(tx, scope, String(id))
    }
    const act = { actor, action: 'person.update', target: String(id), detail: patch }
    await recordAudit(tx, act, admin)
    tx.afterCommit(() => deps.changed(id))
    return shown(directory, row, after)
  })
}

/** Throws 404, also for a row that cannot sign in. */
export async function readPerson(
  from: Reader,
  { directory }: Pick<ActDeps, 'directory'>,
  id: number,
): Promise<ShownPerson> {
  const kept = await store.findById(from, directory.resource, id)
  const row = kept && (await directory.find(from, kept.scope as Scope, id))
  if (!row) throw new Failure('not_found')
  return shown(directory, row, kept)
}
