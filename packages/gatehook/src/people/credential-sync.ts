/**
 * Keeps a credential in step with the row it belongs to: renames and deletes it in the transaction
 * of the row (§4.8, §6.8, §6.9).
 */

import { ADMIN_SCOPE } from '../access/administration.ts'
import { holdsScope, isAccountScope, missingScope } from '../access/scopes.ts'
import { type Actor, type AuditContext, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { parseScopes } from './person.ts'
import * as store from './store.ts'
import { foldName } from './username.ts'

/** A row that signs in, and the principal that changes it; undefined for the engine itself. */
interface CredentialRowChange {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

interface CredentialSync {
  /**
   * Called before the row is renamed, gets another e-mail address or is deleted. Throws 403
   * `insufficient_scope` if the credential has `admin` or an account scope and the principal
   * has no `admin`.
   */
  authorize(tx: Tx, target: CredentialRowChange): Promise<void>
  /**
   * Called after `fields` of the row changed; `username` is its sign-in name now. Throws `conflict`
   * if another row signs in with that name.
   */
  rename(
    tx: Tx,
    target: CredentialRowChange,
    fields: readonly string[],
    username: unknown,
  ): Promise<void>
  /** Called after the row is deleted: deletes its credential and ends its sessions. */
  remove(tx: Tx, target: CredentialRowChange): Promise<void>
}

interface CredentialSyncDeps extends AuditContext {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  readonly tokens: Pick<Tokens, 'revokeSessionsOfPerson'>
  /** Called after the commit: evicts cached verifications of the person. */
  readonly evict: (id: number) => void
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

const ENGINE: Actor = { kind: 'system', id: 'people' }

export function createCredentialSync(deps: CredentialSyncDeps): CredentialSync {
  const { resource, username, tokens, evict } = deps
  const sync: CredentialSync = {
    async authorize(tx, { id, principal }) {
      if (!principal || holdsScope(principal, ADMIN_SCOPE)) return
      const credential = await store.lockCredential(tx, resource, id)
      if (credential && parseScopes(credential).some(isAccountScope)) {
        throw missingScope(ADMIN_SCOPE)
      }
    },
    async rename(tx, target, fields, name) {
      const { id, actor = ENGINE } = target
      // A row without a sign-in name cannot sign in.
      if (typeof name !== 'string') return sync.remove(tx, target)
      if (!(await store.lockCredential(tx, resource, id))) return
      const row = { resource, id, username: name, folded: foldName(name) }
      await rejectTakenName(username, () => store.rename(tx, row))
      const entry = { actor, action: 'person.rename', target: String(id), detail: { fields } }
      await recordAudit(tx, entry, deps)
      tx.afterCommit(() => evict(id))
    },
    async remove(tx, target) {
      const { scope, id, actor = ENGINE } = target
      // A sign-in that has read the credential commits its session first.
      if (!(await store.lockCredential(tx, resource, id))) return
      await store.removeCredential(tx, resource, id)
      await tokens.revokeSessionsOfPerson(tx, scope, String(id))
      await recordAudit(tx, { actor, action: 'person.remove', target: String(id) }, deps)
      tx.afterCommit(() => evict(id))
    },
  }
  return sync
}
