/** Lists and ends the sessions of a person, for operators (§13). */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { b } from '../../protocol/fields/members.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement, operation } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import type { Administration } from '../access/administration.ts'
import type { Tokens } from '../tokens/api.ts'
import { session } from '../tokens/operations.ts'
import { listSessions, sessionListAt } from '../tokens/session-list.ts'
import { findSessionClient } from '../tokens/store.ts'
import type { PersonContext } from './person-administration.ts'
import { type SignOutDeps, signOutEverywhere } from './sign-out.ts'
import * as store from './store.ts'

const params = { id: b.int(1) }

export const personSessionOperations = {
  list: operation('GET /admin/users/:id/sessions', {
    id: 'list_person_sessions',
    tag: 'people',
    summary: 'List the sessions of a person',
    description: 'Each continues with its refresh token until `expires_at`.',
    params,
    output: b.page(session),
  }),
  endAll: operation('DELETE /admin/users/:id/sessions', {
    id: 'end_person_sessions',
    tag: 'people',
    summary: 'End every session of a person',
    description:
      'Tokens are revoked on every node within 2 s. The person is also signed out of the portal ' +
      'and of the sign-in page, and can sign in again.',
    params,
    headers: ['Idempotency-Key'],
  }),
  end: operation('DELETE /admin/users/:id/sessions/:session_id', {
    id: 'end_person_session',
    tag: 'people',
    summary: 'End a session of a person',
    description:
      'Its tokens are revoked on every node within 2 s. `sid` of an access token names it, also ' +
      'that of an identity assertion, which is in no list.',
    params: { ...params, session_id: b.text().example('ses_01jdq8w9vgk7') },
    headers: ['Idempotency-Key'],
  }),
}

export interface PersonSessionContext extends Pick<PersonContext, 'directory' | 'evict'> {
  readonly tokens: SignOutDeps['tokens'] & Pick<Tokens, 'revokeSession'>
}

/** Ends every session of a person, also those of pages. Throws 404. */
const endSessions = (
  admin: Administration,
  context: PersonSessionContext,
  id: number,
  actor: Actor,
): Promise<void> =>
  admin.write(async (tx) => {
    const credential = await store.lockCredential(tx, context.directory.resource, id)
    if (!credential) throw new Failure('not_found')
    const sessions = await signOutEverywhere(tx, context, credential)
    const entry = { actor, action: 'session.end_all', target: String(id), detail: { sessions } }
    await recordAudit(tx, { ...entry, scope: credential.scope }, admin)
  })

/** Ends a session of a person. Throws 404, also for a session of another person. */
const endSession = (
  admin: Administration,
  { directory, tokens }: PersonSessionContext,
  person: number,
  id: string,
  actor: Actor,
): Promise<void> =>
  admin.write(async (tx) => {
    const credential = await store.findById(tx, directory.resource, person)
    const owner = credential && { scope: credential.scope, person, id }
    const client_id = owner && (await findSessionClient(tx, owner, admin.clock.now()))
    if (client_id === undefined) throw new Failure('not_found')
    const subject = String(person)
    const isEnded = await tokens.revokeSession(tx, id, { subject, clientId: client_id })
    if (!isEnded) throw new Failure('not_found')
    const detail = { client_id, person: String(person) }
    const { scope } = owner!
    await recordAudit(tx, { actor, action: 'session.end', target: id, scope, detail }, admin)
  })

export function personSessionRoutes(
  admin: Administration,
  context: PersonSessionContext,
  deps: AdminDeps,
  idOf: (call: Pick<Call, 'params'>) => number,
): Route[] {
  const { change } = adminHandlers(admin, deps)
  const { db, clock } = admin
  return [
    implement(personSessionOperations.list, async (call) => {
      const person = idOf(call)
      const credential = await store.findById(db, context.directory.resource, person)
      if (!credential) throw new Failure('not_found')
      const owner = { scope: credential.scope, person }
      const sessions = sessionListAt(`/admin/users/${person}/sessions`)
      return listSessions(call, { db, clock, list: deps.list }, owner, sessions)
    }),
    change(personSessionOperations.endAll, ({ admin, call, caller }) =>
      endSessions(admin, context, idOf(call), caller.actor),
    ),
    change(personSessionOperations.end, ({ admin, call, params, caller }) =>
      endSession(admin, context, idOf(call), params.session_id!, caller.actor),
    ),
  ]
}
