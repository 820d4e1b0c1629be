/**
 * What happens to credentials with the row they stand beside, in the row's own transaction (§4.8,
 * §6.8).
 */
import { Failure } from '../kernel/failure.ts'
import type { Scope } from '../kernel/principal.ts'
import { ConstraintError, type Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/grant.ts'
import * as store from './store.ts'
import { fold } from './username.ts'

export interface SignInHooks {
  /** The row's sign-in name changed. Throws `conflict` where somebody has it. */
  renamed(tx: Tx, id: number, username: string): Promise<void>
  /** The row is gone: nobody signs in with it, and its sessions end. */
  removed(tx: Tx, scope: Scope, id: number): Promise<void>
}

export interface HookDeps {
  readonly resource: string
  /** The field that is the sign-in name. */
  readonly username: string
  readonly tokens: Pick<Tokens, 'revokeSubject'>
  /** Told after the commit: what is remembered of the person is forgotten. */
  readonly changed: (id: number) => void
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

export function createHooks({ resource, username, tokens, changed }: HookDeps): SignInHooks {
  return {
    async renamed(tx, id, name) {
      const row = { resource, id, username: name, folded: fold(name) }
      const count = await unlessTaken(username, () => store.rename(tx, row))
      if (count > 0) tx.afterCommit(() => changed(id))
    },
    async removed(tx, scope, id) {
      if ((await store.removeCredential(tx, resource, id)) === 0) return
      await tokens.revokeSubject(tx, scope, String(id))
      tx.afterCommit(() => changed(id))
    },
  }
}
