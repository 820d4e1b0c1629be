/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */

import { Failure } from '../../kernel/failure.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { type AdminDeps, adminHandlers } from './admin-handlers.ts'
import type { Administration } from './administration.ts'
import { customerTable } from './collections.ts'
import { customerIdOf } from './customer-reader.ts'
import { createCustomer, updateCustomer } from './customers.ts'
import { keyTable } from './key-members.ts'
import { isKeyInReach, keyReachOf, updateKey } from './key-update.ts'
import { createKey, revokeKey, rollKey, takeOverKey } from './keys.ts'
import { listKeys, type ReadRefusals, readKey } from './listed-keys.ts'
import {
  customerOperations,
  keyOperations,
  protectedOperation,
  scopeOperations,
} from './operations.ts'
import { classifyScope, describeGrant } from './scope-words.ts'

function customerRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminHandlers(admin, deps)
  const customer = row(async (from, { params }) =>
    customerTable.read(from, await customerIdOf(from, params.id!)),
  )
  return [
    list(customerOperations.list, customerTable),
    change(customerOperations.create, ({ admin, input, caller }) =>
      createCustomer(admin, input, caller.actor),
    ),
    customer.read(customerOperations.read),
    customer.change(customerOperations.update, ({ admin, params, input, caller }) =>
      updateCustomer(admin, params.id!, input, caller.actor),
    ),
  ]
}

interface KeyRouteDeps extends AdminDeps {
  readonly readRefusals: ReadRefusals
}

function keyRoutes(admin: Administration, deps: KeyRouteDeps): Route[] {
  const { change, row } = adminHandlers(admin, deps)
  const operations = keyOperations(admin)
  const key = row((from, { params }) => keyTable.read(from, params.id!))
  // A key out of reach is 404 also before `If-Match` is compared.
  const keyInReach = row(async (from, { params, principal }) => {
    const key = await keyTable.read(from, params.id!)
    if (!isKeyInReach(keyReachOf(principal!), key)) throw new Failure('not_found')
    return key
  })
  return [
    implement(operations.list, (call, _, query) => listKeys(admin, call, query, deps)),
    change(operations.create, ({ admin, input, caller }) =>
      input.sha256 === undefined && input.hint === undefined
        ? createKey(admin, input, caller)
        : takeOverKey(admin, input, caller),
    ),
    implement(operations.read, async ({ params }) => {
      const { key, etag } = await readKey(admin, params.id!, deps.readRefusals)
      return { ...respond(operations.read, key), headers: { etag } }
    }),
    keyInReach.change(operations.update, ({ admin, params, input, caller, principal }) =>
      updateKey(admin, params.id!, input, { ...caller, reach: keyReachOf(principal) }),
    ),
    key.change(operations.revoke, ({ admin, params, caller }) =>
      revokeKey(admin, params.id!, caller),
    ),
    key.change(operations.roll, ({ admin, params, input, caller }) =>
      rollKey(admin, params.id!, input, caller),
    ),
  ]
}

/** Lists the scopes that a key can hold. */
const scopeRoute = ({ scopes, changes }: Pick<Administration, 'scopes' | 'changes'>): Route =>
  implement(scopeOperations.list, () =>
    respond(scopeOperations.list, {
      data: [...scopes].sort().map((name) => ({
        name,
        words: describeGrant(name, changes),
        ...classifyScope(name),
      })),
    }),
  )

/** Returns the routes of customers, keys and scopes. */
export const accessRoutes = (admin: Administration, deps: KeyRouteDeps): Route[] => [
  ...customerRoutes(admin, deps),
  ...keyRoutes(admin, deps),
  scopeRoute(admin),
]

/** Returns the subject of the caller, for every scheme. */
export const protectedRoute: Route = implement(protectedOperation, ({ principal }) =>
  respond(protectedOperation, { status: 'ok', user: principal!.subject }),
)
