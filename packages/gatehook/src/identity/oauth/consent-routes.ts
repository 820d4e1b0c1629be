/** `/auth/consents` (§4.5): lists and revokes the consents of a person. */
import { actorOf } from '../../history/audit/store.ts'
import { noContent, type Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import type { Collection } from '../../protocol/lists/collection.ts'
import { columnsOf } from '../../protocol/lists/columns.ts'
import { cellView } from '../../protocol/lists/encode.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import { type ConsentRevocation, revokeConsent } from './consent-revocation.ts'
import { consent, consentOperations } from './operations.ts'

const columns = columnsOf(consent)

/** The member `scope` holds the column `scopes`; the column `scope` is customer and mode. */
const consentCollection: Collection = {
  name: 'consents',
  table: 'gh_consents',
  columns: columns.map((column) =>
    column.name === 'scope' ? { ...column, name: 'scopes' } : column,
  ),
  scoped: true,
  owner: 'owner',
  filter: ['client_id', 'client_name', 'created_at'],
  sort: ['client_id', 'created_at'],
  indexes: [
    ['owner', 'client_id'],
    ['owner', 'created_at', 'client_id'],
  ],
}

const consentView = cellView(
  columns,
  (row) => `{"self":${JSON.stringify(`/auth/consents/${row[0]}`)}}`,
)

interface ConsentDeps extends ConsentRevocation {
  readonly list: Lister
}

export function consentRoutes(deps: ConsentDeps): Route[] {
  const { list } = deps
  return [
    implement(consentOperations.list, (call) => {
      const owner = Number(call.principal!.subject)
      return list(call, consentCollection, consentView, { owner })
    }),
    implement(consentOperations.revoke, async (call) => {
      const { scope, subject } = call.principal!
      const clientId = call.params.client_id!
      await revokeConsent(deps, { scope, subject, clientId }, actorOf(call))
      return noContent()
    }),
  ]
}
