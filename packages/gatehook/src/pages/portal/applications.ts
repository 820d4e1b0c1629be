/**
 * `/portal/api/consents`: the applications that people of the customer allowed. The session of a
 * link lists the consents of all people with `keys:read`, and revokes them with `keys:write`; it
 * reads the names of the people with the scope that reads their rows. A person's session has the
 * own ones.
 */

import { actorOf } from '../../history/audit/store.ts'
import type { ScopeChanges } from '../../identity/access/administration.ts'
import { describeScope } from '../../identity/access/scope-words.ts'
import { missingScope } from '../../identity/access/scopes.ts'
import { findCustomer } from '../../identity/access/store.ts'
import type { RightsOf } from '../../identity/access/stored-data.ts'
import { MAX_ID_CHARACTERS } from '../../identity/oauth/client-document.ts'
import { claimantHosts } from '../../identity/oauth/client-words.ts'
import { type ConsentRevocation, revokeConsent } from '../../identity/oauth/consent-revocation.ts'
import { listConsents, type StoredConsent } from '../../identity/oauth/consent-store.ts'
import { readUsernames } from '../../identity/people/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { parseRowId } from '../../kernel/row-id.ts'
import { isoTime } from '../../kernel/time.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Call, noContent, type Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type ApplicationJson, portalDataOperations as operations } from './data-operations.ts'

const APPLICATIONS_MAX = 200
const CONSENT_ID = new RegExp(`^([1-9][0-9]{0,15})\\.(.{1,${MAX_ID_CHARACTERS}})$`)

/** Returns the id of the person whose consents a session reaches; undefined: those of all. */
const ownPerson = ({ principal }: Call): number | undefined =>
  principal!.kind === 'person' ? Number(principal!.subject) : undefined

/** Throws 403 if the session of a link lacks the scope. */
function requireScope(call: Call, scope: string): void {
  if (ownPerson(call) === undefined && !call.principal!.scopes.has(scope)) throw missingScope(scope)
}

function toJson(
  row: StoredConsent,
  words: { readonly customer: string; readonly changes: ScopeChanges },
  username: string | undefined,
): ApplicationJson {
  const { scopes } = row
  return {
    id: `${row.owner}.${row.clientId}`,
    client_id: row.clientId,
    name: row.clientName,
    hosts: claimantHosts(row),
    scopes,
    allows: scopes.map((scope) => describeScope(scope, words.customer, words.changes)),
    allowed_by: { id: String(row.owner), name: username ?? null },
    allowed_at: isoTime(row.createdAt),
  }
}

interface ApplicationDeps extends ConsentRevocation {
  readonly changes: ScopeChanges
  /** The resource whose rows sign in; undefined if none does. */
  readonly people: string | undefined
  readonly rightsOf: RightsOf
}

export const applicationRoutes = (deps: ApplicationDeps): Route[] => [
  implement(operations.applications, async (call) => {
    requireScope(call, 'keys:read')
    const { scope, customer } = call.principal!
    const consents = await listConsents(deps.db, {
      scope,
      owner: ownPerson(call),
      limit: APPLICATIONS_MAX + 1,
    })
    const customerName = (await findCustomer(deps.db, customer))?.name ?? ''
    const words = { customer: customerName, changes: deps.changes }
    const isOwn = ownPerson(call) !== undefined
    const readsPeople = isOwn || deps.rightsOf(call.principal!).mayIdentify('person')
    const listed = consents.slice(0, APPLICATIONS_MAX)
    const usernames =
      readsPeople && deps.people !== undefined
        ? await readUsernames(
            deps.db,
            deps.people,
            listed.map(({ owner }) => owner),
          )
        : undefined
    const data = listed.map((row) => toJson(row, words, usernames?.get(row.owner)))
    return respond(operations.applications, {
      data,
      has_more: consents.length > APPLICATIONS_MAX,
    })
  }),
  implement(operations.revoke, async (call) => {
    const principal = call.principal!
    const person = ownPerson(call)
    requireScope(call, 'keys:write')
    const [, owner, clientId] = CONSENT_ID.exec(call.params.id!) ?? []
    const isOwn = person === undefined || String(person) === owner
    if (owner === undefined || parseRowId(undefined, owner) === undefined || !isOwn) {
      throw new Failure('not_found')
    }
    const consent = { scope: principal.scope, subject: owner, clientId: clientId! }
    const own = { ...deps, db: { write: writeFor(call, deps.db) } }
    await revokeConsent(own, consent, actorOf(call))
    return noContent()
  }),
]
