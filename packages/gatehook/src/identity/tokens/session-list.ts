/** The list of a person's sessions: for the person (§4.5) and for operators (§13). */

import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { createList, type List } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { session } from './operations.ts'
import * as store from './store.ts'

/** Returns the list of sessions that are served at `path`/`id`. */
export const sessionListAt = (path: string): List =>
  createList({
    row: session,
    path,
    name: 'sessions',
    table: 'gh_sessions',
    // The column `scope` is customer and mode.
    repeated: { scope: 'scopes' },
    hidden: [{ name: 'scopes', type: 'text' }],
    scoped: true,
    where: store.IS_SIGN_IN,
    owner: 'person',
    filter: ['id', 'client_id', 'created_at', 'last_used_at', 'expires_at'],
    sort: ['id', 'created_at'],
    indexes: [
      ['person', 'id'],
      ['person', 'created_at', 'id'],
    ],
  })

interface SessionListDeps {
  readonly db: Database
  readonly clock: Clock
  readonly list: Lister
}

/** The person whose sessions a request lists. */
export interface SessionOwner {
  readonly scope: number
  readonly person: number
}

/** Answers a list request with the sessions of a person that have not expired. */
export async function listSessions(
  call: Call,
  { db, clock, list }: SessionListDeps,
  { scope, person }: SessionOwner,
  { collection, view }: List,
): Promise<Answer> {
  const now = clock.now()
  // The janitor purges once a minute, but the list must contain no expired session.
  if (await store.findExpiredSession(db, scope, person, now)) {
    await db.write((tx) => store.deleteExpiredSessions(tx, scope, person, now))
  }
  return list(call, collection, view, { owner: person, scope })
}
