/** `/admin/issuers` (§16.8): the operations of `issuer-administration.ts` over HTTP. */
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import {
  addedRules,
  createIssuer,
  deleteIssuer,
  type IssuerAdministration,
  issuerTable,
  readIssuerJson,
  updateIssuer,
} from './issuer-administration.ts'
import { type ExplanationDeps, explainAssertion } from './issuer-assertion.ts'
import { issuerOperations } from './issuer-operations.ts'

export function issuerRoutes(
  administration: IssuerAdministration,
  deps: AdminDeps & { readonly explanation: ExplanationDeps },
): Route[] {
  const { change, row } = adminHandlers(administration, deps)
  const operations = issuerOperations(administration)
  const issuer = row((from, { params }) => readIssuerJson(from, params.id!))
  return [
    implement(operations.list, (call) =>
      deps.list(call, issuerTable.collection, issuerTable.view, { added: [addedRules] }),
    ),
    change(operations.create, ({ admin, input, caller }) => createIssuer(admin, input, caller)),
    issuer.read(operations.read),
    issuer.change(operations.update, ({ admin, params, input, caller }) =>
      updateIssuer(admin, params.id!, input, caller),
    ),
    issuer.change(operations.remove, ({ admin, params, caller }) =>
      deleteIssuer(admin, params.id!, caller),
    ),
    implement(operations.explain, async ({ params }, { assertion }) => {
      const explained = await explainAssertion(deps.explanation, params.id!, assertion)
      return respond(operations.explain, explained, { 'cache-control': 'no-store' })
    }),
  ]
}
