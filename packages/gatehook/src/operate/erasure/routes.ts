/** `GET /admin/customers/{id}/export` and `DELETE /admin/customers/{id}` (§18.11). */
import { actorOf } from '../../history/audit/store.ts'
import { type AdminDeps, adminHandlers } from '../../identity/access/admin-handlers.ts'
import { type Administration, customerId } from '../../identity/access/administration.ts'
import { deleteCustomer } from '../../identity/access/customers.ts'
import type { Shares } from '../../kernel/budget.ts'
import type { Answer, Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { sendParts } from '../../protocol/http/send-parts.ts'
import { createStreamLimits } from '../../protocol/http/stream-limits.ts'
import type { CustomerDeletionJob } from './customer-deletion.ts'
import type { ExportCustomer } from './customer-export.ts'
import { erasureOperations as operations } from './operations.ts'

interface ErasureRouteDeps extends AdminDeps {
  readonly admin: Administration
  readonly exportCustomer: ExportCustomer
  readonly deletion: CustomerDeletionJob
}

const EXPORT_SHARES: Shares = {
  ...{ caller: 2, group: 4, process: 4 },
  ...{ small: 2, stalledMs: Number.POSITIVE_INFINITY },
}
const LONGEST_MS = 3_600_000

export function erasureRoutes({ admin, exportCustomer, deletion, ...deps }: ErasureRouteDeps) {
  const { change } = adminHandlers(admin, deps)
  const limits = createStreamLimits(EXPORT_SHARES, 'exports of customers')
  const routes: Route[] = [
    implement(operations.exportCustomer, async (call): Promise<Answer> => {
      const principal = call.principal!
      limits.admit(principal)
      const lines = await exportCustomer(customerId(call.params.id!), actorOf(call))
      return {
        status: 200,
        headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
        longestMs: LONGEST_MS,
        async stream(out) {
          const leave = limits.enter(principal, out.cut)
          if (!leave) return out.cut() // several requests arrived at once
          try {
            await sendParts(lines, out)
          } finally {
            leave()
          }
        },
      }
    }),
    change(operations.deleteCustomer, ({ admin, params, caller }) =>
      deleteCustomer(admin, customerId(params.id!), caller.actor, deletion.begin),
    ),
  ]
  return routes
}
