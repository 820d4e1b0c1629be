/**
 * Which events a caller and a registration may read (§9.1, §9.14). A registration receives the
 * types that its maker's scopes cover. A caller changes where events go only if its own scopes
 * cover them.
 */
import type { EventAccess } from '../events/event-access.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { eventsOf, type Registration, scopesOf } from './registration.ts'

/** The `client_id` of tokens that login issues, without a third party. */
const FIRST_PARTY = 'gatehook'
const WRITE = 'webhooks:write'

/** Reads the scopes that a principal holds now, in the transaction; undefined: it was removed. */
export type CurrentScopes = (
  tx: Tx,
  principal: Principal,
) => Promise<ReadonlySet<string> | undefined>

export interface Authority {
  readonly types: EventAccess
  readonly currentScopes: CurrentScopes
}

/** The columns of a registration that describe its maker. */
export type Maker = Pick<Registration, 'scopes' | 'subject' | 'client_id'>

/** Whether scopes permit to make and to keep registrations. */
export const mayWrite = (scopes: ReadonlySet<string>): boolean =>
  scopes.has(WRITE) || scopes.has('admin')

const missingScope = (scope: string, type: string) =>
  new Failure(
    'insufficient_scope',
    `The credential lacks the scope ${scope}, which events of type ${type} require.`,
  )

/**
 * Throws 403 if a pattern names a type that the caller may not read. In the portal, throws it also
 * for a family (`thing.*`) of which the session reads no type: the endpoint would receive none.
 */
export function requireReadable(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  patterns: readonly string[],
): void {
  const scopes = types.readScopesOf(principal)
  const uncoveredFamily = () =>
    principal.inPortal === undefined ? undefined : types.uncoveredFamily(scopes, patterns)
  const type = types.uncovered(scopes, patterns) ?? uncoveredFamily()
  if (type !== undefined) throw missingScope(types.scopeOf(type, principal.kind), type)
}

/** Throws 403 if the registration receives a type that the caller may not read. */
export function requireReadableRegistration(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  row: Registration,
): void {
  const registrationScopes = new Set(scopesOf(row))
  const type = types.beyond(types.readScopesOf(principal), registrationScopes, eventsOf(row))
  if (type !== undefined) throw missingScope(types.scopeOf(type, principal.kind), type)
}

/** Whether the scopes of a registration cover a type. */
export const canReceive = (
  { types }: Pick<Authority, 'types'>,
  row: Registration,
  type: string,
): boolean => types.covers(new Set(scopesOf(row)), type)

/**
 * Returns the caller as the maker of a registration, with the scopes that it holds in this
 * transaction. Throws 403 if it lost a required scope since the request began.
 */
export async function makerOf(
  { types, currentScopes }: Authority,
  tx: Tx,
  principal: Principal,
  patterns: readonly string[],
): Promise<Maker> {
  const current = await currentScopes(tx, principal)
  const scopes = new Set([...principal.scopes].filter((scope) => current?.has(scope)))
  const currentPrincipal = { ...principal, scopes }
  if (!mayWrite(scopes)) {
    throw new Failure('insufficient_scope', `The credential lacks the scope ${WRITE}.`)
  }
  requireReadable({ types }, currentPrincipal, patterns)
  const { kind, subject, clientId } = principal
  const client = kind === 'client' ? subject : clientId === FIRST_PARTY ? undefined : clientId
  return {
    scopes: JSON.stringify([...types.readScopesOf(currentPrincipal)]),
    subject: kind === 'person' ? subject : null,
    client_id: client ?? null,
  }
}
