/**
 * Which events a caller and a registration may read (§9.1, §9.14). A registration receives the
 * types that its maker's scopes cover. A caller changes where events go only if its own scopes
 * cover them.
 */
import {
  type EventAccess,
  type EventReader,
  makerAsReader,
} from '../../history/events/event-access.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Warning } from '../../protocol/http/call.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import { eventsOf } from './registration.ts'

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
export type Maker = Pick<Registration, 'scopes' | 'subject' | 'client_id' | 'assertion'>

/** Whether scopes permit to make and to keep registrations. */
export const mayWrite = (scopes: ReadonlySet<string>): boolean =>
  scopes.has(WRITE) || scopes.has('admin')

const missingScope = (scope: string, type: string) =>
  new Failure(
    'insufficient_scope',
    `The credential lacks the scope ${scope}, which events of type ${type} require.`,
    { scope },
  )

/** Throws 403 for a pattern of which the caller may read no type: it would receive no event. */
export function requireReadable(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  patterns: readonly string[],
): void {
  const pattern = types.uncoveredPattern(principal, patterns)
  if (pattern === undefined) return
  const family = types.unreadable({ ...principal, scopes: new Set() }, [pattern])
  const scopes = [...new Set(family.map((type) => types.scopeOf(type, principal.kind)))].sort()
  if (scopes.length === 1) throw missingScope(scopes[0]!, pattern)
  throw new Failure(
    'insufficient_scope',
    `The credential has none of the scopes that cover events of ${pattern}: ${scopes.join(', ')}.`,
  )
}

/**
 * Returns the warning for types that patterns name and the scopes of their maker do not cover;
 * empty if they cover all.
 */
export function unreadableWarnings(
  { types }: Pick<Authority, 'types'>,
  maker: EventReader,
  patterns: readonly string[],
): Warning[] {
  const unreadable = types.unreadable(maker, patterns)
  if (unreadable.length === 0) return []
  const message =
    'The registration does not receive these events, because its scopes do not cover them: ' +
    `${unreadable.join(', ')}.`
  return [{ type: 'unreadable_events', message, event_types: unreadable }]
}

/** Throws 403 if the registration receives a type that the caller may not read. */
export function requireReadableRegistration(
  { types }: Pick<Authority, 'types'>,
  principal: Principal,
  row: Registration,
): void {
  const type = types.beyond(principal, makerAsReader(row), eventsOf(row))
  if (type !== undefined) throw missingScope(types.scopeOf(type, principal.kind), type)
}

/** Whether the scopes of a registration cover a type. */
export const canReceive = (
  { types }: Pick<Authority, 'types'>,
  row: Registration,
  type: string,
): boolean => types.covers(makerAsReader(row), type)

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
    throw new Failure('insufficient_scope', `The credential lacks the scope ${WRITE}.`, {
      scope: WRITE,
    })
  }
  requireReadable({ types }, currentPrincipal, patterns)
  const { kind, subject, clientId, assertion } = principal
  const client = kind === 'client' ? subject : clientId === FIRST_PARTY ? undefined : clientId
  return {
    scopes: JSON.stringify([...types.readScopesOf(currentPrincipal)]),
    subject: kind === 'person' ? subject : null,
    client_id: client ?? null,
    assertion: assertion ? JSON.stringify(assertion) : null,
  }
}
