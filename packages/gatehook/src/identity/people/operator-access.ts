/** Ends what an operator has open: sessions and links of the console, and those of the portal. */
import type { Tx } from '../../platform/storage/database.ts'
import type { Administration } from '../access/administration.ts'
import * as store from './operator-store.ts'

/**
 * Ends all sessions of an operator, and deletes its links, also those to the portal. Returns their
 * number.
 */
export async function endOperatorAccess(
  { endPortalAccessOf }: Pick<Administration, 'endPortalAccessOf'>,
  tx: Tx,
  operator: string,
): Promise<number> {
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
  const session = await store.deleteSessionById(tx, id)
  if (session?.operator != null) await endPortalAccessOf?.(tx, session.operator)
  return session !== undefined
}

/** Ends the other sessions of an operator, and the links and sessions of the portal. */
export async function endOtherSessions(
  { endPortalAccessOf }: Pick<Administration, 'endPortalAccessOf'>,
  tx: Tx,
  { operator, id }: { readonly operator: string; readonly id: string },
): Promise<void> {
  await store.deleteOtherSessions(tx, operator, id)
  await endPortalAccessOf?.(tx, operator)
}
