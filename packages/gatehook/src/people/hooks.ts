/**
 * What happens to a credential with the row it belongs to, in the row's own transaction (§4.8,
 * §6.8, §6.9).
 */

import { ADMIN_SCOPE } from '../access/administration.ts'
import { holdsScope, isAccountScope, missingScope } from '../access/scopes.ts'
import { type Actor, type AuditContext, recordAudit } from '../audit/store.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { scopesOf } from './person.ts'
import * as store from './store.ts'
import { fold } from './username.ts'

/** The row, and the principal that changes it; undefined: the engine itself. */
export interface SignInTarget {
  readonly scope: Scope
  readonly id: number
  readonly principal: Principal | undefined
  readonly actor: Actor | undefined
}

export interface SignInHooks {
  /**
   * Before the row is renamed, given another e-mail address or deleted. Throws 403
   * `insufficient_scope` where the credential has `admin` or an account scope and the principal
   * has no `admin`.
   */
  authorize(tx: Tx, target: SignInTarget): Promise<void>
  /**
   * `fields` of the row changed; `username` is the sign-in name now. Throws `conflict` where
   * another row signs in with it.
   */
  changed(tx: Tx, target: SignInTarget, fields: readonly string[], username: unknown): Promise<void>
  /** The row is deleted: its credential and its sessions end. */
  removed(tx: Tx, target: SignInTarget): Promise<void>
}

export interface HookDeps extends AuditContext {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  readonly tokens: Pick<Tokens, 'revokeSessionsOfPerson'>
  /** Runs after the commit: cached verifications of the person are evicted. */
  readonly forget: (id: number) => void
}

/** Names are unique in the installation among those who can sign in (§4.8). */
export async function unlessTaken<T>(field: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof ConstraintError) || error.index !== store.USERNAME_INDEX) throw error
    const message = 'is taken already'
    throw new Failure('conflict', `${field}: ${message}`, {
      errors: [{ pointer: `/${field}`, code: 'conflict', message }],
    })
  }
}

const ENGINE: Actor = { kind: 'system', id: 'people' }

export function createHooks(deps: HookDeps): SignInHooks {
  const { resource, username, tokens, forget } = deps
  const hooks: SignInHooks = {
    async authorize(tx, { id, principal }) {
      if (!principal || holdsScope(principal, ADMIN_SCOPE)) return
      const credential = await store.lockCredential(tx, resource, id)
      if (credential && scopesOf(credential).some(isAccountScope)) throw missingScope(ADMIN_SCOPE)
    },
    async changed(tx, target, fields, name) {
      const { id } = target
      // A row without a sign-in name cannot sign in.
      if (typeof name !== 'string') return hooks.removed(tx, target)
      if (!(await store.lockCredential(tx, resource, id))) return
      const row = { resource, id, username: name, folded: fold(name) }
      await unlessTaken(username, () => store.rename(tx, row))
      const { actor = ENGINE } = target
      const act = { actor, action: 'person.rename', target: String(id), detail: { fields } }
      await recordAudit(tx, act, deps)
      tx.afterCommit(() => forget(id))
    },
    async removed(tx, target) {
      const { scope, id, actor = ENGINE } = target
      if ((await store.removeCredential(tx, resource, id)) === 0) return
      await tokens.revokeSessionsOfPerson(tx, scope, String(id))
      await recordAudit(tx, { actor, action: 'person.remove', target: String(id) }, deps)
      tx.afterCommit(() => forget(id))
    },
  }
  return hooks
}
