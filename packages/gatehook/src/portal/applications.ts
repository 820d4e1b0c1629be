/**
 * `/portal/api/consents`: the applications that people of the customer allowed. The session of a
 * link sees the consents of all people and revokes them with `keys:write`; a person's session has
 * the own ones.
 */

import { describeScope } from '../access/scope-words.ts'
import { missingScope } from '../access/scopes.ts'
import { actorOf } from '../audit/store.ts'
import { type Call, noContent, type Route } from '../http/call.ts'
import { implement, respond } from '../http/operation.ts'
import { Failure } from '../kernel/failure.ts'
import { isoTime } from '../kernel/time.ts'
import { type ConsentRevocation, revokeConsent } from '../oauth/consent-revocation.ts'
import { type ApplicationJson, portalDataOperations as operations } from './data-operations.ts'
import * as store from './store.ts'

const APPLICATIONS_MAX = 200
const CONSENT_ID = /^([1-9][0-9]{0,15})\.(.{1,100})$/

/** Returns the id of the person whose consents a session reaches; undefined: those of all. */
const ownPerson = ({ principal }: Call): number | undefined =>
  principal!.kind === 'person' ? Number(principal!.subject) : undefined

function toJson(row: store.ConsentRow, customerName: string): ApplicationJson {
  const scopes = row.scopes.split(' ').filter(Boolean)
  return {
    id: `${row.owner}.${row.client_id}`,
    client_id: row.client_id,
    name: row.client_name,
    scopes,
    allows: scopes.map((scope) => describeScope(scope, customerName)),
    allowed_by: { id: String(row.owner), name: row.username },
    allowed_at: isoTime(row.created_at),
  }
}

interface ApplicationDeps extends ConsentRevocation {
  /** The resource whose rows sign in; undefined if none does. */
  readonly people: string | undefined
}

export const applicationRoutes = (deps: ApplicationDeps): Route[] => [
  implement(operations.applications, async (call) => {
    const { scope, customer } = call.principal!
    const rows = await store.listConsents(deps.db, {
      scope,
      person: ownPerson(call),
      resource: deps.people ?? '',
      limit: APPLICATIONS_MAX + 1,
    })
    const name = (await store.findCustomerName(deps.db, customer)) ?? ''
    const data = rows.slice(0, APPLICATIONS_MAX).map((row) => toJson(row, name))
    return respond(operations.applications, { data, has_more: rows.length > APPLICATIONS_MAX })
  }),
  implement(operations.revoke, async (call) => {
    const principal = call.principal!
    const person = ownPerson(call)
    if (person === undefined && !principal.scopes.has('keys:write'))
      throw missingScope('keys:write')
    const [, owner, clientId] = CONSENT_ID.exec(call.params.id!) ?? []
    const isOwn = person === undefined || String(person) === owner
    if (owner === undefined || !isOwn) throw new Failure('not_found')
    const consent = { scope: principal.scope, subject: owner, clientId: clientId! }
    await revokeConsent(deps, consent, actorOf(call))
    return noContent()
  }),
]
