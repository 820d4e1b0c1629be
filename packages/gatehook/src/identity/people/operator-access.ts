/**
 * Opens and ends the access of an operator: sessions and links of the console, and those of the
 * portal. Both lock the operator first, so that of two at once one sees the other.
 */
import { Failure } from '../../kernel/failure.ts'
import { hasRole, type Principal } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Administration } from '../access/administration.ts'
import type { EndGivenAccess } from '../access/given-access.ts'
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
 * Locks an operator. Whether it has the role of the principal still, and its session. The session
 * of a first link has no operator, and no role.
 */
export async function isActingOperator(
  tx: Tx,
  { subject, role, sessionId }: Pick<Principal, 'subject' | 'role' | 'sessionId'>,
): Promise<boolean> {
  if (role !== undefined) {
    const row = await store.lockOperatorById(tx, subject)
    if (row?.disabled !== 0 || row.in_group !== 1 || !hasRole(row, role)) return false
  }
  return sessionId === undefined || store.hasSession(tx, sessionId)
}

/**
 * Locks the operator of a request, whose authority its creations have. Returns its id, and null for
 * another caller. Throws 401 for an operator who was disabled or lost its role since the request
 * began, or whose session has ended.
 */
export async function lockActingOperator(tx: Tx, principal: Principal): Promise<string | null> {
  const { kind, subject } = principal
  if (kind !== 'operator') return null
  if (await isActingOperator(tx, principal)) return subject
  throw new Failure('unauthorized', 'The operator lost rights since the request began.')
}

type GivenAccess = Pick<Administration, 'endGivenAccess'>

/**
 * Returns the function that ends all access by the authority of a maker: links to the console and
 * the portal that it created, and the sessions that they opened. With a session of an operator ends
 * the access that it may have given.
 *
 * @param endPortalAccess ends links and sessions of the portal
 */
export function createEndGivenAccess(endPortalAccess: EndGivenAccess): EndGivenAccess {
  const endGivenAccess: EndGivenAccess = async (tx, maker) => {
    const { at } = maker
    let ended = await store.endGivenLinks(tx, maker)
    ended += await endPortalAccess(tx, maker)
    const others = await store.listOpenedBy(tx, maker)
    for (const other of others) await store.lockOperatorById(tx, other)
    ended += await store.endSessionsOpenedBy(tx, maker)
    for (const other of others)
      ended += await endGivenAccess(tx, { maker: other, ...(at !== undefined && { at }) })
    return ended
  }
  return endGivenAccess
}

/** Ends all access by the authority of makers. Returns the number of links and sessions. */
async function endAccessOf(admin: GivenAccess, tx: Tx, makers: readonly string[]): Promise<number> {
  let ended = 0
  for (const maker of makers) ended += (await admin.endGivenAccess?.(tx, { maker })) ?? 0
  return ended
}

/**
 * Ends the session of a token with all access that it gave before it had an operator. Returns it;
 * undefined if there is none. Links of its operator remain.
 */
export async function takeSession(admin: GivenAccess, tx: Tx, hash: Uint8Array) {
  const session = await store.takeSession(tx, hash)
  if (session && session.link !== null) await endAccessOf(admin, tx, [session.link])
  return session
}

/**
 * Ends all sessions of an operator, the links that open the console as it, and all access by its
 * authority. Returns their number.
 */
export async function endOperatorAccess(
  admin: GivenAccess,
  tx: Tx,
  operator: string,
): Promise<number> {
  await store.lockOperatorById(tx, operator)
  const makers = await store.listMakersOfOperator(tx, operator)
  const sessions = await store.deleteSessions(tx, operator)
  const links = await store.deleteLinks(tx, operator)
  return sessions + links + (await endAccessOf(admin, tx, makers))
}

/**
 * Ends a session with all access by the authority of its operator, which is no more than that of
 * the session, or by its own without an operator. Returns false if there is none.
 */
export async function endSessionOfOperator(
  admin: GivenAccess,
  tx: Tx,
  id: string,
): Promise<boolean> {
  const makers = await store.listMakersOfSession(tx, id)
  for (const maker of makers) await store.lockOperatorById(tx, maker)
  if (!(await store.deleteSessionById(tx, id))) return false
  await endAccessOf(admin, tx, makers)
  return true
}

/** Ends the other sessions of an operator, and all access by its authority. */
export async function endOtherSessions(
  admin: GivenAccess,
  tx: Tx,
  { operator, id }: { readonly operator: string; readonly id: string },
): Promise<void> {
  await store.lockOperatorById(tx, operator)
  const makers = await store.listMakersOfOperator(tx, operator)
  await store.deleteOtherSessions(tx, operator, id)
  await endAccessOf(admin, tx, makers)
}
