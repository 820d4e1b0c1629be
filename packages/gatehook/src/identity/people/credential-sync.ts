/**
 * Keeps a credential in step with the row it belongs to: renames and deletes it in the transaction
 * of the row (§4.8, §6.8, §6.9).
 */

import type { Actor } from '../../history/audit/actor.ts'
import { type AuditContext, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { type Principal, personIdOf, type Scope } from '../../kernel/principal.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import { ConstraintError, type Tx } from '../../platform/storage/database.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { ADMIN_SCOPE } from '../access/administration.ts'
import { isAccountScope, isAdministrator, missingScope } from '../access/scopes.ts'
import { deleteMailTokens } from './mail-tokens.ts'
import { deletePasskeysOf } from './passkey-store.ts'
import { type DirectoryRow, nameOf, parseScopes } from './person.ts'
import { type SignOutDeps, signOutEverywhere } from './sign-out.ts'
import * as store from './store.ts'

/** A row that signs in, and the principal that changes it; undefined for the engine itself. */
interface CredentialRowChange {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

interface CredentialSync {
  /**
   * Called before the row is deleted, or its sign-in name, name or e-mail address changes. Throws
   * 403 `credential_protected` for a protected sign-in name. Throws 403 `insufficient_scope` if the
   * credential has `admin` or an account scope and the principal is no administrator.
   */
  authorize(
    tx: Tx,
    target: CredentialRowChange,
    username: 'none' | 'permitted' | 'protected',
  ): Promise<void>
  /**
   * Called after `fields` of the row changed. Throws `conflict` if another row signs in with its
   * sign-in name.
   */
  rename(
    tx: Tx,
    target: CredentialRowChange,
    fields: readonly string[],
    row: DirectoryRow,
  ): Promise<void>
  /** Called after the row is deleted: deletes its credential and ends its sessions. */
  remove(tx: Tx, target: CredentialRowChange): Promise<void>
}

interface CredentialSyncDeps extends AuditContext, SignOutDeps {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  /** Enqueues the mail to the former address; undefined if sign-in names are no addresses. */
  readonly outbox: Pick<MailOutbox, 'enqueue'> | undefined
}

/** Runs `change`; throws 409 `conflict` if another row signs in with the same name (§4.8). */
export async function rejectTakenName<T>(field: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof ConstraintError) || !error.isOf(store.USERNAME_INDEX)) throw error
    const message = 'is taken already'
    throw new Failure('conflict', `${field}: ${message}`, {
      errors: [{ pointer: `/${field}`, code: 'conflict', message }],
    })
  }
}

/** Returns the 403 of a change of a sign-in name by anyone but its person and `admin` (§6.9). */
function protectedName(field: string): Failure {
  const message = 'is the sign-in name of a person, which this caller cannot change'
  return new Failure('credential_protected', undefined, {
    errors: [{ pointer: `/${field}`, code: 'credential_protected', message }],
  })
}

/** Returns the session in which a person requested its own new name: it continues (§6.9). */
const keptSession = ({ id, principal }: CredentialRowChange): string | undefined =>
  principal && personIdOf(principal) === String(id) ? principal.sessionId : undefined

const ENGINE: Actor = { kind: 'system', id: 'people' }

export function createCredentialSync(deps: CredentialSyncDeps): CredentialSync {
  const { resource, username: field, outbox, evict, tokens } = deps
  const sync: CredentialSync = {
    async authorize(tx, { id, principal }, change) {
      if (change === 'permitted' || (change === 'none' && principal && isAdministrator(principal)))
        return
      const credential = await store.lockCredential(tx, resource, id)
      if (!credential) return
      if (change === 'protected') throw protectedName(field)
      if (parseScopes(credential).some(isAccountScope)) throw missingScope(ADMIN_SCOPE)
    },
    async rename(tx, target, fields, changed) {
      const { id, actor = ENGINE } = target
      const name = changed[field]
      const isRenamed = fields.includes(field)
      // A row without a sign-in name cannot sign in.
      if (isRenamed && typeof name !== 'string') return sync.remove(tx, target)
      const credential = await store.lockCredential(tx, resource, id)
      if (!credential) return
      await store.updateName(tx, { resource, id, name: nameOf(changed) })
      if (isRenamed && credential.username !== name) {
        const { principal } = target
        const confirmed = Number(principal !== undefined && isAdministrator(principal))
        const username = String(name)
        const row = { resource, id, username, folded: foldName(username), confirmed }
        await rejectTakenName(field, () => store.rename(tx, row))
        // Resets of the former address end; their revision of the credential is over, too.
        await deleteMailTokens(tx, credential)
        await tokens.revokeSessionsOfPerson(
          tx,
          credential.scope as Scope,
          String(id),
          keptSession(target),
        )
        await outbox?.enqueue(tx, 'username_changed', {
          scope: credential.scope as Scope,
          payload: { email: credential.username },
        })
      }
      const { scope } = credential
      const entry = {
        actor,
        action: 'person.rename',
        target: String(id),
        scope,
        detail: { fields },
      }
      await recordAudit(tx, entry, deps)
      tx.afterCommit(() => evict(id))
    },
    async remove(tx, target) {
      const { id, actor = ENGINE } = target
      // A sign-in that has read the credential commits its session first.
      const credential = await store.lockCredential(tx, resource, id)
      if (!credential) return
      // First the removal: the sign-out reviews the registrations of a person that is gone (§9.14).
      await store.removeCredential(tx, resource, id)
      await deletePasskeysOf(tx, resource, id)
      await signOutEverywhere(tx, deps, credential)
      const { scope } = credential
      await recordAudit(tx, { actor, action: 'person.remove', target: String(id), scope }, deps)
    },
  }
  return sync
}
