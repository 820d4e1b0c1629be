/**
 * A person: a row that signs in, with its credential. The resource that `.signsIn()` names provides
 * its rows as a `Directory`. Pure.
 */

import type { Actor } from '../../history/audit/actor.ts'
import type { Mode, Principal, Scope } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { principalMembersOf } from '../access/customers.ts'
import type { NameReach } from './namespace.ts'
import type { AccountRow, CredentialRow } from './store.ts'

export interface Person {
  readonly scope: Scope
  readonly customer: string
  readonly mode: Mode
  readonly id: number
  /** The id as a string (§3.7). */
  readonly subject: string
  readonly username: string
  /** The sign-in name if it is an address. */
  readonly email: string | undefined
  /** Whether `admin` set the sign-in name, or the person used a token of a mail to it. */
  readonly isConfirmed: boolean
  readonly name: string | undefined
  readonly role: string | undefined
  readonly scopes: readonly string[]
  /** The claims of tokens: `name`, `role`, and those of the service's hook. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The revision of the credential whose password was verified; see `SignInApi.confirm`. */
  readonly revision: number
}

export type DirectoryRow = Readonly<Record<string, unknown>>

/** The bodies of sign-ups. */
interface SignUpBodies {
  /** Returns the fields of the form that has all of these members. */
  namesFor(members: readonly string[]): ReadonlySet<string>
  /** Returns a body as the values of a row. Throws `validation_failed`. */
  read(body: DirectoryRow): DirectoryRow
}

/** The rows of the resource whose rows sign in. */
export interface Directory {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  readonly names: NameReach
  /** The fields of the resource: a body's member of that name belongs to the row, too. */
  readonly fields: FieldSpecs
  /** The fields that a stranger sets, and the scopes of the account; undefined: no sign-up. */
  readonly signUp:
    | { readonly fields: readonly string[]; readonly scopes?: readonly string[] | undefined }
    | undefined
  /** Whether a person resets the password by mail. */
  readonly hasPasswordReset: boolean
  /** Whether the sign-in name is an e-mail address that its person can change. */
  readonly hasMailNames: boolean
  /** Returns a new sign-in name as the value of a row. Throws `validation_failed`. */
  readUsername(text: string): string
  /**
   * Gives the row of a person another sign-in name as the person's own change: with checks, rules,
   * event and credential. Throws `conflict`, `validation_failed`.
   */
  rename(tx: Tx, principal: Principal, id: number, username: string, actor: Actor): Promise<void>
  /** The bodies of sign-ups, also those of older versions. */
  readonly signUpForms: SignUpBodies
  /** Returns a body's members as the values of a row. Throws `validation_failed`. */
  values(body: DirectoryRow): DirectoryRow
  /** Creates a row as the resource does: with checks, references and events. */
  create(tx: Tx, scope: Scope, values: DirectoryRow): Promise<DirectoryRow>
  find(reader: Reader, scope: Scope, id: number): Promise<DirectoryRow | undefined>
  /** Returns the scope of a row; ids of a resource are unique in the installation. */
  scopeOf(reader: Reader, id: number): Promise<Scope | undefined>
  /** Returns the row in the JSON form of the newest version. */
  show(row: DirectoryRow): DirectoryRow
}

/** The hook of a service that adds claims to a person's tokens (§4.1). */
export type ClaimsHook = (
  person: Omit<Person, 'claims' | 'revision'> & { readonly row: DirectoryRow },
) => Readonly<Record<string, unknown>>

/** Returns the name in the row of a person; null without one. */
export const nameOf = ({ name }: DirectoryRow): string | null =>
  typeof name === 'string' ? name : null

export const parseScopes = (row: { readonly scopes: string }): readonly string[] =>
  JSON.parse(row.scopes) as string[]

/** Returns the principal that Basic authentication yields. */
export function toPrincipal(row: AccountRow): Principal {
  return {
    customer: row.customer,
    mode: row.mode,
    scope: row.scope as Scope,
    kind: 'person',
    subject: String(row.id),
    name: row.username,
    scopes: new Set(parseScopes(row)),
    revision: row.revision,
    ...principalMembersOf(row),
  }
}

/** Loads the person of a credential; undefined if the row was deleted. */
export async function loadPerson(
  reader: Reader,
  credential: CredentialRow,
  directory: Directory,
  hook: ClaimsHook | undefined,
): Promise<Person | undefined> {
  const scope = credential.scope as Scope
  const row = await directory.find(reader, scope, credential.id)
  return row && toPerson(credential, row, directory, hook)
}

/** Returns the person of a credential and its row. */
export function toPerson(
  credential: CredentialRow,
  row: DirectoryRow,
  { fields, username }: Pick<Directory, 'fields' | 'username'>,
  hook: ClaimsHook | undefined,
): Person {
  const scope = credential.scope as Scope
  const name = nameOf(row) ?? undefined
  const role = credential.role ?? undefined
  const person = {
    scope,
    customer: credential.customer,
    mode: credential.mode,
    id: credential.id,
    subject: String(credential.id),
    username: credential.username,
    email: fields[username]?.kind === 'email' ? credential.username : undefined,
    isConfirmed: credential.confirmed === 1,
    name,
    role,
    scopes: parseScopes(credential),
  }
  const claims = {
    ...hook?.({ ...person, row }),
    // The hook cannot replace these.
    ...(name !== undefined && { name }),
    ...(role !== undefined && { role }),
  }
  return { ...person, claims, revision: credential.revision }
}
