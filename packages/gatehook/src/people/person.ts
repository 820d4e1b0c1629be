/**
 * A person: a row that signs in, with what is kept beside it. What is needed of the rows
 * themselves is said here and given by the resource that `.signsIn()` names. Pure.
 */
import { parseRequestRates } from '../access/customers.ts'
import { Failure } from '../kernel/failure.ts'
import type { Mode, Principal, Scope } from '../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { AccountRow, CredentialRow } from './store.ts'

export interface Person {
  readonly scope: Scope
  readonly customer: string
  readonly mode: Mode
  readonly id: number
  /** The id as a string (§3.7). */
  readonly subject: string
  readonly username: string
  readonly name: string | undefined
  readonly role: string | undefined
  readonly scopes: readonly string[]
  /** For tokens: `name`, `role`, and what the service's hook adds. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What was known when the password was judged; see `People.confirm`. */
  readonly revision: number
}

export type AnyRow = Readonly<Record<string, unknown>>

/** The rows of the resource whose rows sign in. */
export interface Directory {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  /** Its fields: a member of the same name in a body is the row's, too. */
  readonly fields: readonly string[]
  /** A body's members as a row's values. Throws `validation_failed`. */
  values(body: AnyRow): AnyRow
  /** By the resource's own way: checks, references, events. */
  create(tx: Tx, scope: Scope, values: AnyRow): Promise<AnyRow>
  find(reader: Reader, scope: Scope, id: number): Promise<AnyRow | undefined>
  /** Whose row it is: ids of a resource are unique in the installation. */
  scopeOf(reader: Reader, id: number): Promise<Scope | undefined>
  /** The row as callers of the newest version see it. */
  show(row: AnyRow): AnyRow
}

/** What a service's own hook says of a person in its tokens (§4.1). */
export type ClaimsHook = (
  person: Omit<Person, 'claims' | 'revision'> & { readonly row: AnyRow },
) => Readonly<Record<string, unknown>>

export const scopesOf = (row: { readonly scopes: string }): readonly string[] =>
  JSON.parse(row.scopes) as string[]

export function principalOf(row: AccountRow): Principal {
  return {
    customer: row.customer,
    mode: row.mode,
    scope: row.scope as Scope,
    kind: 'person',
    subject: String(row.id),
    name: row.username,
    scopes: new Set(scopesOf(row)),
    ...parseRequestRates(row.limits),
  }
}

/** Undefined where the row itself is gone. */
export async function personOf(
  reader: Reader,
  account: CredentialRow,
  directory: Directory,
  hook: ClaimsHook | undefined,
): Promise<Person | undefined> {
  const scope = account.scope as Scope
  const row = await directory.find(reader, scope, account.id)
  if (!row) return undefined
  const name = typeof row.name === 'string' ? row.name : undefined
  const role = account.role ?? undefined
  const person = {
    scope,
    customer: account.customer,
    mode: account.mode,
    id: account.id,
    subject: String(account.id),
    username: account.username,
    name,
    role,
    scopes: scopesOf(account),
  }
  const own = { ...(name !== undefined && { name }), ...(role !== undefined && { role }) }
  // The hook adds; what the engine says of a person it does not change.
  const claims = { ...hook?.({ ...person, row }), ...own }
  return { ...person, claims, revision: account.revision }
}

/** Throws `customer_suspended`. */
export function refuseSuspended({ suspended }: Pick<AccountRow, 'suspended'>): void {
  if (suspended !== 0) throw new Failure('customer_suspended')
}
