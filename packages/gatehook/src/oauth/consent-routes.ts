/** `/auth/consents` (§4.5): lists and revokes the consents of a person. */
import { type AuditContext, actorOf, recordAudit } from '../audit/store.ts'
import { noContent, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Collection, View } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { Lister } from '../lists/list.ts'
import type { Database } from '../storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { deleteCodes } from './authorization-codes.ts'
import { deleteConsent } from './consent-store.ts'

const consentCollection: Collection = {
  name: 'consents',
  table: 'gh_consents',
  columns: [
    { name: 'client_id', type: 'text' },
    { name: 'client_name', type: 'text' },
    { name: 'scopes', type: 'text' },
    { name: 'created_at', type: 'time' },
    { name: 'updated_at', type: 'time' },
  ],
  integerId: false,
  scoped: true,
  owner: 'owner',
  hasStoredTotal: false,
  filter: ['client_id', 'client_name', 'created_at'],
  sort: ['client_id', 'created_at'],
  indexes: [
    ['owner', 'client_id'],
    ['owner', 'created_at', 'client_id'],
  ],
}

/** The member `scope` holds the column `scopes`; the column `scope` is customer and mode. */
const consentView: View = cellView(
  consentCollection.columns.map((column) =>
    column.name === 'scopes' ? { ...column, name: 'scope' } : column,
  ),
  (row) => `{"self":${JSON.stringify(`/auth/consents/${row[0]}`)}}`,
)

interface ConsentDeps extends AuditContext {
  readonly db: Database
  readonly list: Lister
  readonly tokens: Pick<Tokens, 'revokeSessionsAtClient'>
}

export function consentRoutes(deps: ConsentDeps): Route[] {
  const { db, list, tokens } = deps
  return [
    route('/auth/consents', {
      GET: {
        handle: async (call) => {
          const owner = Number(call.principal!.subject)
          return list(call, consentCollection, consentView, { owner })
        },
      },
    }),
    route('/auth/consents/:client_id', {
      DELETE: {
        async handle(call) {
          const { scope, subject } = call.principal!
          const clientId = call.params.client_id!
          await db.write(async (tx) => {
            // Codes first: a concurrent exchange has then either failed or stored its session.
            await deleteCodes(tx, scope, subject, clientId)
            const consents = await deleteConsent(tx, { scope, owner: Number(subject), clientId })
            const sessions = await tokens.revokeSessionsAtClient(tx, scope, subject, clientId)
            if (consents === 0 && sessions === 0) throw new Failure('not_found')
            const entry = { actor: actorOf(call), action: 'consent.revoke', target: clientId }
            await recordAudit(tx, { ...entry, detail: { sessions } }, deps)
          })
          return noContent()
        },
      },
    }),
  ]
}
