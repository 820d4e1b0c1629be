/** Exports and deletions of customers and persons (§18.11). */
import { actorOf } from '../../history/audit/store.ts'
import { type AdminDeps, adminHandlers } from '../../identity/access/admin-handlers.ts'
import type { Administration } from '../../identity/access/administration.ts'
import { customerIdOf } from '../../identity/access/customer-reader.ts'
import { deleteCustomer } from '../../identity/access/customers.ts'
import { rejectInheritedRules } from '../../identity/oauth/issuer-administration.ts'
import { personIdOfPath } from '../../identity/people/routes.ts'
import type { Shares } from '../../kernel/budget.ts'
import type { Answer, Call, Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { sendParts } from '../../protocol/http/send-parts.ts'
import { createStreamLimits } from '../../protocol/http/stream-limits.ts'
import type { CustomerDeletionJob } from './customer-deletion.ts'
import type { ExportCustomer } from './customer-export.ts'
import { erasureOperations, personErasureOperations } from './operations.ts'
import type { PersonErasure } from './person-erasure.ts'
import type { ExportPerson } from './person-export.ts'

interface ErasureRouteDeps extends AdminDeps {
  readonly admin: Administration
  readonly exportCustomer: ExportCustomer
  readonly deletion: CustomerDeletionJob
  /** Undefined if no resource signs in. */
  readonly persons: { readonly export: ExportPerson; readonly erasure: PersonErasure } | undefined
}

const EXPORT_SHARES: Shares = {
  ...{ caller: 2, group: 4, process: 4 },
  ...{ small: 2, stalledMs: Number.POSITIVE_INFINITY },
}
const LONGEST_MS = 3_600_000

export function erasureRoutes({
  admin,
  exportCustomer,
  deletion,
  persons,
  ...deps
}: ErasureRouteDeps) {
  const { change } = adminHandlers(admin, deps)
  const limits = createStreamLimits(EXPORT_SHARES, 'exports')
  const send = async (call: Call, find: () => Promise<AsyncIterable<string>>): Promise<Answer> => {
    const principal = call.principal!
    limits.admit(principal)
    const lines = await find()
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
  }
  const routes: Route[] = [
    implement(erasureOperations.exportCustomer, (call) =>
      send(call, async () =>
        exportCustomer(await customerIdOf(admin.db, call.params.id!), actorOf(call)),
      ),
    ),
    change(erasureOperations.deleteCustomer, async ({ admin, params, caller }) => {
      const customer = await customerIdOf(admin.db, params.id!)
      return deleteCustomer(admin, customer, caller.actor, async (tx, place, cause) => {
        await rejectInheritedRules(tx, place)
        await deletion.begin(tx, place, cause)
      })
    }),
  ]
  if (!persons) return routes
  return [
    ...routes,
    implement(personErasureOperations.exportPerson, (call) =>
      send(call, () => persons.export(personIdOfPath(call), actorOf(call))),
    ),
    change(personErasureOperations.erasePerson, ({ admin, params, caller }) =>
      persons.erasure.begin(admin, personIdOfPath({ params }), caller.actor),
    ),
  ]
}
