/**
 * Which events a caller and a registration may read (§9.1, §9.14). A registration receives what
 * the scopes of its maker cover; a caller changes where they go only if its own scopes cover them.
 */
import type { EventAccess } from '../events/event-access.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { eventsOf, type Registration, scopesOf } from './registration.ts'

/** `client_id` of tokens that login issues: no third party stands between. */
const FIRST_PARTY = 'gatehook'
const WRITE = 'webhooks:write'

/** The scopes a principal holds now, read in the transaction; undefined: it was removed. */
export type CurrentScopes = (
  tx: Tx,
  principal: Principal,
) => Promise<ReadonlySet<string> | undefined>

export interface Authority {
  readonly types: EventAccess
  readonly currentScopes: CurrentScopes
}

/** What a registration stores of its maker. */
export type Maker = Pick<Registration, 'scopes' | 'subject' | 'client_id'>

const lacks = (scope: string, type: string) =>
  new Failure(
    'insufficient_scope',
    `The credential lacks the scope ${scope}, which events of type ${type} require.`,
  )

/** Throws 403 for a type that the caller may not read. */
export function refuseUnreadable(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  patterns: readonly string[],
): void {
  const type = types.uncovered(types.readScopesOf(principal), patterns)
  if (type !== undefined) throw lacks(types.scopeOf(type, principal.kind), type)
}

/** Throws 403 where the registration receives a type that the caller may not read. */
export function refuseForeign(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  row: Registration,
): void {
  const own = new Set(scopesOf(row))
  const type = types.beyond(types.readScopesOf(principal), own, eventsOf(row))
  if (type !== undefined) throw lacks(types.scopeOf(type, principal.kind), type)
}

/** Whether a registration may receive a type. */
export const receives = ({ types }: Pick<Authority, 'types'>, row: Registration, type: string) =>
  types.covers(new Set(scopesOf(row)), type)

/**
 * The caller as the maker of a registration, with the scopes it holds at this moment. Throws 403
 * where they were taken away since the request began.
 */
export async function makerOf(
  { types, currentScopes }: Authority,
  tx: Tx,
  principal: Principal,
  patterns: readonly string[],
): Promise<Maker> {
  const current = await currentScopes(tx, principal)
  const held = [...principal.scopes].filter((scope) => current?.has(scope))
  const now = { ...principal, scopes: new Set(held) }
  if (!now.scopes.has(WRITE) && !now.scopes.has('admin')) {
    throw new Failure('insufficient_scope', `The credential lacks the scope ${WRITE}.`)
  }
  refuseUnreadable({ types }, now, patterns)
  const { kind, subject, clientId } = principal
  const client = kind === 'client' ? subject : clientId === FIRST_PARTY ? undefined : clientId
  return {
    scopes: JSON.stringify([...types.readScopesOf(now)]),
    subject: kind === 'person' ? subject : null,
    client_id: client ?? null,
  }
}
