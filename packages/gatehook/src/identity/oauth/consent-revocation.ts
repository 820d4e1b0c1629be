/** Revokes the consent of a person to a client (§4.5). */
import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { deleteCodes } from './authorization-codes.ts'
import { deleteConsent } from './consent-store.ts'
import { deleteDeviceGrants } from './device-grants.ts'

export interface ConsentRevocation extends AuditContext {
  readonly db: Database
  readonly tokens: Pick<Tokens, 'revokeSessionsAtClient'>
}

/**
 * Deletes a consent, and ends the sessions and the webhooks of its client. Throws 404 if there are
 * none of them.
 */
export async function revokeConsent(
  deps: Omit<ConsentRevocation, 'db'> & { readonly db: Pick<Database, 'write'> },
  { scope, subject, clientId }: { scope: Scope; subject: string; clientId: string },
  actor: Actor,
): Promise<void> {
  await deps.db.write(async (tx) => {
    // The consent first: a concurrent request for a code has then either failed or stored it.
    const consents = await deleteConsent(tx, { scope, owner: Number(subject), clientId })
    // Codes before sessions: a concurrent exchange has then either failed or stored its session.
    await deleteCodes(tx, scope, subject, clientId)
    await deleteDeviceGrants(tx, scope, subject, clientId)
    const ended = await deps.tokens.revokeSessionsAtClient(tx, scope, subject, clientId)
    const { sessions, registrations } = ended
    if (consents + sessions + registrations === 0) throw new Failure('not_found')
    const entry = { actor, action: 'consent.revoke', target: clientId, scope }
    await recordAudit(tx, { ...entry, detail: { subject, sessions } }, deps)
  })
}
