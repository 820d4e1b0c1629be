/** Validates the scopes and the customer that a key, a client or a person is granted (§13). */

import type { FieldError } from '../../kernel/failure.ts'
import { type Mode, type Scope, scopeOf } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { b } from '../../protocol/fields/members.ts'
import { type Administration, DEFAULT_CUSTOMER, isInstallationScope } from './administration.ts'
import { customerById } from './store.ts'

export const MAX_SCOPES = 100

/** Reads at most a hundred scopes of the installation. */
export const scopeSet = ({ scopes }: Pick<Administration, 'scopes'>) =>
  b.set(b.oneOf([...scopes]), { max: MAX_SCOPES })

/**
 * Returns the error of a scope of the installation that is granted outside of the default
 * customer's live mode (§13, §18.9); undefined if the scopes may be granted.
 */
export function findMisplacedScope(
  grantees: 'keys' | 'clients' | 'people',
  scopes: readonly string[],
  customer: string,
  mode: string,
): FieldError | undefined {
  const index = scopes.findIndex(isInstallationScope)
  if (index < 0 || (customer === DEFAULT_CUSTOMER && mode === 'live')) return undefined
  const message = `is only for live ${grantees} of the customer "default"`
  return { pointer: `/scopes/${index}`, code: 'invalid_value', message }
}

export const unknownCustomer = () =>
  invalidMembers([
    { pointer: '/customer', code: 'invalid_value', message: 'is not a known customer' },
  ])

/** Returns the scope of a customer and keeps the customer until `tx` ends. Throws 422. */
export async function holdCustomerScope(tx: Tx, customer: string, mode: Mode): Promise<Scope> {
  const [row] = await tx.hold<{ no: number }>(customerById(customer))
  if (!row) throw unknownCustomer()
  return scopeOf(row.no, mode)
}
