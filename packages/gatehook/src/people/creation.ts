/** A person is made (§13): a row by the resource's own way, and what lets it sign in. */
import { type AdminCaller, type Administration, customerId } from '../access/administration.ts'
import { holdCustomerScope, scopeSet, unknownCustomer } from '../access/grant-validation.ts'
import { findCustomer } from '../access/store.ts'
import { recordAudit } from '../audit/store.ts'
import { Failure, type FieldError } from '../kernel/failure.ts'
import {
  invalidMembers,
  line,
  type Members,
  oneOf,
  optional,
  orNull,
  readMembers,
  required,
} from '../kernel/members.ts'
import {
  type ActDeps,
  refuseAdmin,
  type ShownPerson,
  shown,
  WORD_MAX,
  writeCredential,
} from './credential.ts'
import { MIN_LENGTH, newPassword, passwordError } from './password-policy.ts'
import type { Directory } from './person.ts'
import { hintName } from './sign-in.ts'

const creation = (admin: Administration) =>
  ({
    password: required(newPassword(MIN_LENGTH.person)),
    role: optional(orNull(line(WORD_MAX))),
    scopes: optional(scopeSet(admin)),
    customer: optional(line(WORD_MAX)),
    mode: optional(oneOf('live', 'test')),
  }) satisfies Members

/** Members of the credential, and those of the row; all that is wrong with both is told at once. */
async function readCreation(admin: Administration, directory: Directory, input: unknown) {
  const members = creation(admin)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidMembers([{ pointer: '', code: 'invalid_value', message: 'must be an object' }])
  }
  const entries = Object.entries(input)
  const isOurs = (name: string) => Object.hasOwn(members, name)
  const isRows = (name: string) => name !== 'password' && directory.fields.includes(name)
  const ours = Object.fromEntries(entries.filter(([name]) => isOurs(name)))
  const rows = Object.fromEntries(entries.filter(([name]) => !isOurs(name) || isRows(name)))
  const errors: FieldError[] = []
  const collected = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Failure) || !error.errors) throw error
      errors.push(...error.errors)
      return undefined
    }
  }
  const wish = collected(() => readMembers(ours, members))
  const values = collected(() => directory.values(rows))
  if (wish && values) {
    const name = String(values[directory.username] ?? '')
    const error = await passwordError(wish.password, name, '/password')
    if (error) errors.push(error)
  }
  if (!wish || !values || errors.length > 0) throw invalidMembers(errors)
  return { wish, values, username: String(values[directory.username] ?? '') }
}

/**
 * A person who can sign in, from the row's fields and `{password, role?, scopes?, customer?,
 * mode?}`. Throws 422 `validation_failed`, 409 `conflict` for a sign-in name somebody has.
 */
export async function createPerson(
  admin: Administration,
  deps: ActDeps,
  input: unknown,
  { actor, customer: own }: AdminCaller,
): Promise<ShownPerson> {
  const { directory } = deps
  const { wish, values, username } = await readCreation(admin, directory, input)
  const customer = customerId(wish.customer ?? own)
  const mode = wish.mode ?? 'live'
  const scopes = wish.scopes ?? deps.defaultScopes
  refuseAdmin(scopes, customer, mode)
  if (!(await findCustomer(admin.db, customer))) throw unknownCustomer()
  const password = await deps.hasher.hash(wish.password, hintName('person', username))
  return admin.write(async (tx) => {
    const scope = await holdCustomerScope(tx, customer, mode)
    const row = await directory.create(tx, scope, values)
    const wanted = { customer, mode, password, role: wish.role ?? null, scopes }
    const kept = await writeCredential(tx, admin, deps, scope, row, wanted)
    const detail = { customer, mode, role: kept.role, scopes }
    const act = { actor, action: 'person.create', target: String(kept.id), detail }
    await recordAudit(tx, act, admin)
    return shown(directory, row, kept)
  })
}
