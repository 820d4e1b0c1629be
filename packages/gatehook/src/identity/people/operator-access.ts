/**
 * Opens and ends the access of an operator: sessions and links of the console, and those of the
 * portal. Both lock the operator first, so that of two at once one sees the other.
 */
import type { Actor } from '../../history/audit/actor.ts'
import { Failure } from '../../kernel/failure.ts'
import { hasRole, type Principal, type Scope } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { ADMIN_SCOPE, type Administration } from '../access/administration.ts'
import { holdKeyScopes } from '../access/key-reader.ts'
import * as store from './operator-store.ts'

/** Locks an operator who opens something. Throws the failure for one who is disabled or unknown. */
export async function lockActiveOperator(
  tx: Tx,
  operator: string,
  refusal: () => Failure,
): Promise<store.OperatorRow> {
  const row = await store.lockOperatorById(tx, operator)
  if (row?.disabled !== 0) throw refusal()
  return row
}

/**
 * Locks the operator of a request, whose authority its creations have. Returns its id, and null for
 * another caller. Throws 401 for an operator who was disabled or lost its role since the request
 * began, or whose session has ended.
 */
export async function lockActingOperator(
  tx: Tx,
  { kind, subject, role, sessionId }: Principal,
): Promise<string | null> {
  if (kind !== 'operator') return null
  const lost = () =>
    new Failure('unauthorized', 'The operator lost rights since the request began.')
  // The session of a first link has no operator, and no role.
  if (role !== undefined && !hasRole(await lockActiveOperator(tx, subject, lost), role))
    throw lost()
  if (sessionId !== undefined && !(await store.hasSession(tx, sessionId))) throw lost()
  return subject
}

/**
 * Whether the administrator who caused work that waits may still cause it: an operator or a key
 * whose access ended has no later effects. The session of a first link has no operator, and the
 * command line no rights that end.
 */
export async function mayStillAdminister(
  tx: Tx,
  { kind, id, scope }: Pick<Actor, 'scope' | 'id'> & { readonly kind: string },
  now: number,
): Promise<boolean> {
  if (kind === 'operator') {
    const row = await store.readOperatorById(tx, id)
    return !row || (row.disabled === 0 && hasRole(row, 'administrator'))
  }
  if (kind !== 'key') return true
  const scopes = await holdKeyScopes(tx, { scope: scope as Scope, id }, now)
  return scopes !== undefined && (JSON.parse(scopes) as string[]).includes(ADMIN_SCOPE)
}

/**
 * Ends all sessions of an operator, and deletes its links, also those to the portal. Returns their
 * number.
 */
export async function endOperatorAccess(
  { endPortalAccessOf }: Pick<Administration, 'endPortalAccessOf'>,
  tx: Tx,
  operator: string,
): Promise<number> {
  await store.lockOperatorById(tx, operator)
  const sessions = await store.deleteSessions(tx, operator)
  const links = await store.deleteLinks(tx, operator)
  return sessions + links + ((await endPortalAccessOf?.(tx, operator)) ?? 0)
}

/**
 * Ends a session of an operator with the links and sessions of the portal, which have no more
 * authority than it had. Returns false if there is none.
 */
export async function endSessionOfOperator(
  { endPortalAccessOf }: Pick<Administration, 'endPortalAccessOf'>,
  tx: Tx,
  id: string,
): Promise<boolean> {
  const operator = await store.findOperatorOfSession(tx, id)
  if (operator !== undefined) await store.lockOperatorById(tx, operator)
  if (!(await store.deleteSessionById(tx, id))) return false
  if (operator !== undefined) await endPortalAccessOf?.(tx, operator)
  return true
}

/** Ends the other sessions of an operator, and the links and sessions of the portal. */
export async function endOtherSessions(
  { endPortalAccessOf }: Pick<Administration, 'endPortalAccessOf'>,
  tx: Tx,
  { operator, id }: { readonly operator: string; readonly id: string },
): Promise<void> {
  await store.lockOperatorById(tx, operator)
  await store.deleteOtherSessions(tx, operator, id)
  await endPortalAccessOf?.(tx, operator)
}
