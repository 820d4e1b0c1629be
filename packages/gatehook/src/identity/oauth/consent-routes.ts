/** `/auth/consents` (§4.5): lists and revokes the consents of a person. */
import { actorOf } from '../../history/audit/store.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { noContent, type Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { createList } from '../../protocol/lists/definition.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { type ConsentRevocation, revokeConsent } from './consent-revocation.ts'
import { consent, consentOperations } from './operations.ts'

const consents = createList({
  row: consent,
  path: '/auth/consents',
  name: 'consents',
  table: 'gh_consents',
  // The column `scope` is customer and mode.
  repeated: { scope: 'scopes' },
  hidden: [{ name: 'scopes', type: 'text' }],
  scoped: true,
  owner: 'owner',
  filter: ['client_id', 'client_name', 'created_at'],
  sort: ['client_id', 'created_at'],
  indexes: [
    ['owner', 'client_id'],
    ['owner', 'created_at', 'client_id'],
  ],
})

interface ConsentDeps extends ConsentRevocation {
  readonly list: Lister
}

export function consentRoutes(deps: ConsentDeps): Route[] {
  const { list } = deps
  return [
    implement(consentOperations.list, (call) => {
      const owner = Number(call.principal!.subject)
      return list(call, consents.collection, consents.view, { owner })
    }),
    implement(consentOperations.revoke, async (call) => {
      const { scope, subject } = call.principal!
      const clientId = call.params.client_id!
      const own = { ...deps, db: { write: writeFor(call, deps.db) } }
      await revokeConsent(own, { scope, subject, clientId }, actorOf(call))
      return noContent()
    }),
  ]
}
