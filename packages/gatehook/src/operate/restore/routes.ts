/** `POST /admin/restore/release` and `POST /admin/restore/confirm` (§18.5). */
import { type AuditContext, actorOf } from '../../history/audit/store.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import { restoreOperations as operations, restoreJson } from './operations.ts'
import { confirmRevocations, releaseRestore } from './state.ts'

export const restoreRoutes = (perform: Perform, audit: AuditContext): Route[] => [
  implement(operations.release, (call) =>
    perform(call, async (tx) => {
      const state = await releaseRestore(tx, actorOf(call), audit)
      return respond(operations.release, restoreJson(state))
    }),
  ),
  implement(operations.confirm, (call) =>
    perform(call, async (tx) => {
      const entry = { actor: actorOf(call) }
      const state = await confirmRevocations(tx, entry, audit)
      return respond(operations.confirm, restoreJson(state))
    }),
  ),
]
