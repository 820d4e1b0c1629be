/**
 * What keys, clients and people are granted alike: scopes, whose they are, and how long an old
 * secret stays good beside the new one. What each of them is besides stands in its room.
 */
import type { FieldError } from '../kernel/failure.ts'
import { integer, invalidMembers, optional, type Read, setOf } from '../kernel/members.ts'
import { type Mode, type Scope, scopeOf } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { ADMIN_SCOPE, type Administration, DEFAULT_CUSTOMER } from './administration.ts'
import { oneCustomer } from './store.ts'

const MAX_SCOPES = 100
const MAX_OVERLAP_S = 7 * 86_400

/** Where a rotation does not say (§3.2, §9.4). */
export const DEFAULT_OVERLAP_S = 86_400

/** `overlap_seconds` of a rotation: at most seven days. */
export const overlapSeconds = optional(integer(0, MAX_OVERLAP_S))

/** One of a set of names: `is not a known scope` for others. */
export const knownName =
  (names: ReadonlySet<string>, what: string): Read<string> =>
  (value, wrong) =>
    names.has(value as string) ? (value as string) : wrong(`is not a known ${what}`)

/** Scopes there are, at most a hundred. */
export const knownScopes = ({ scopes }: Pick<Administration, 'scopes'>) =>
  setOf(knownName(scopes, 'scope'), MAX_SCOPES)

/** What is wrong where `admin` is granted to others than the operator's own, live (§13). */
export function misplacedAdmin(
  kind: 'keys' | 'clients' | 'people',
  scopes: readonly string[],
  customer: string,
  mode: string,
): FieldError | undefined {
  const at = scopes.indexOf(ADMIN_SCOPE)
  if (at < 0 || (customer === DEFAULT_CUSTOMER && mode === 'live')) return undefined
  const message = `is only for live ${kind} of the customer "default"`
  return { pointer: `/scopes/${at}`, code: 'invalid_value', message }
}

export const unknownCustomer = () =>
  invalidMembers([
    { pointer: '/customer', code: 'invalid_value', message: 'is not a known customer' },
  ])

/** The scope of a customer, which stays until the transaction ends. Throws 422 for none such. */
export async function heldScope(tx: Tx, customer: string, mode: Mode): Promise<Scope> {
  const owner = await tx.hold<{ no: number }>(oneCustomer(customer))
  if (!owner) throw unknownCustomer()
  return scopeOf(owner.no, mode)
}
