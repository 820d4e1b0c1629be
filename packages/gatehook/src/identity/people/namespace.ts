/**
 * The rows among which a sign-in name is unique (§4.8): all of the installation, or with `names:
 * 'customer'` of `.signsIn()` those of a customer and mode. A request then names the customer and
 * the mode in which its person signs in.
 */

import { Failure } from '../../kernel/failure.ts'
import { type Mode, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { b } from '../../protocol/fields/members.ts'
import { mode } from '../access/collections.ts'
import { customerIdOf } from '../access/customer-reader.ts'
import { findCustomer } from '../access/store.ts'

export type NameReach = 'installation' | 'customer'

export interface Namespace {
  /** The value of the column `namespace`: the scope of the rows, or that of an installation. */
  readonly no: number
  /** Identifies the namespace in counters and caches, also that of an unknown customer. */
  readonly key: string
}

/** Scopes are positive. */
const INSTALLATION_NO = -1
const UNKNOWN_NO = -2
/** The longest id of a customer in a request, in characters. */
const CUSTOMER_MAX = 200

export const namespaceAt = (no: number): Namespace => ({ no, key: String(no) })

export const INSTALLATION = namespaceAt(INSTALLATION_NO)

export const namespaceOf = (names: NameReach, scope: Scope): Namespace =>
  names === 'customer' ? namespaceAt(scope) : INSTALLATION

/** The customer and mode of a request that signs in; `scope` if its client determines both. */
export interface SignInPlace {
  readonly customer?: string | undefined
  readonly mode?: Mode | undefined
  readonly scope?: Scope
}

/**
 * Returns the namespace of a request. An unknown customer has one without names, in which every
 * name is unknown. Throws 400 `customer_required`.
 */
export async function findNamespace(
  from: Reader,
  names: NameReach,
  { customer, mode = 'live', scope }: SignInPlace,
): Promise<Namespace> {
  if (names !== 'customer') return INSTALLATION
  if (scope !== undefined) return namespaceOf(names, scope)
  if (customer === undefined) throw new Failure('customer_required')
  // A longer id is unknown.
  const id = customer.slice(0, CUSTOMER_MAX + 1)
  const row = await findCustomer(from, await customerIdOf(from, id))
  if (row) return namespaceOf(names, scopeOf(row.no, mode))
  return { no: UNKNOWN_NO, key: JSON.stringify([id, mode]) }
}

/** Returns the scope of the names of a namespace; undefined for those of the installation. */
export const scopeOfNamespace = (no: number): Scope | undefined =>
  no > 0 ? (no as Scope) : undefined

/** Whether a namespace can have names: that of an unknown customer has none. */
export const isKnown = (no: number): boolean => no !== UNKNOWN_NO

const placeMembers = {
  customer: b
    .line(CUSTOMER_MAX)
    .optional()
    .describe('The id of the customer, or its external id. Without it: 400 `customer_required`.')
    .example('cus_01jdq8w9vgk7'),
  mode: mode.optional().describe('Default `live`.'),
}

/** The members of a request that name the customer and the mode; none for the installation. */
export const placeMembersFor = (names: NameReach): typeof placeMembers =>
  names === 'customer' ? placeMembers : ({} as typeof placeMembers)

/** The errors of such a request. */
export const placeErrors = (names: NameReach) =>
  names === 'customer' ? (['customer_required'] as const) : []
