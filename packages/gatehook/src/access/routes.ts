/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */
import { actorOf } from '../audit/store.ts'
import { type Call, type Endpoint, json, noContent } from '../http/call.ts'
import { Query } from '../http/query.ts'
import type { Lister } from '../lists/list.ts'
import { ADMIN_SCOPE, type Administration, type Caller, customerId } from './administration.ts'
import { customerCollection, customerView, keyCollection, keyView } from './collections.ts'
import { createCustomer, patchCustomer, readCustomer } from './customers.ts'
import { createKey, readKey, revokeKey, rollKey } from './keys.ts'

const scope = ADMIN_SCOPE

const callerOf = ({ principal }: Call): Caller => ({
  actor: actorOf(principal!),
  customer: principal!.customer,
})

/** An answer that holds a secret is kept by nobody on its way. */
const SECRET = { 'cache-control': 'no-store' }

export function customerEndpoints(admin: Administration, list: Lister): Endpoint[] {
  return [
    {
      kind: 'admin',
      path: '/admin/customers',
      methods: {
        GET: { scope, handle: (call) => list(call, customerCollection, customerView) },
        POST: {
          scope,
          body: 'required',
          async handle(call) {
            const customer = await createCustomer(admin, call.body, actorOf(call.principal!))
            return json(201, customer, { location: `/admin/customers/${customer.id}` })
          },
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/customers/:id',
      methods: {
        GET: {
          scope,
          handle: async ({ params }) => json(200, await readCustomer(admin.db, params.id!)),
        },
        PATCH: {
          scope,
          body: 'required',
          async handle({ params, body, principal }) {
            return json(200, await patchCustomer(admin, params.id!, body, actorOf(principal!)))
          },
        },
      },
    },
  ]
}

export function keyEndpoints(admin: Administration, list: Lister): Endpoint[] {
  return [
    {
      kind: 'admin',
      path: '/admin/keys',
      methods: {
        GET: { scope, handle: (call) => list(withCustomerIds(call), keyCollection, keyView) },
        POST: {
          scope,
          body: 'required',
          async handle(call) {
            const key = await createKey(admin, call.body, callerOf(call))
            return json(201, key, { ...SECRET, location: `/admin/keys/${key.id}` })
          },
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/keys/:id',
      methods: {
        GET: {
          scope,
          handle: async ({ params }) => json(200, await readKey(admin.db, params.id!)),
        },
        DELETE: {
          scope,
          async handle(call) {
            await revokeKey(admin, call.params.id!, callerOf(call))
            return noContent()
          },
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/keys/:id/roll',
      methods: {
        POST: {
          scope,
          body: 'optional',
          async handle(call) {
            const key = await rollKey(admin, call.params.id!, call.body, callerOf(call))
            return json(200, key, SECRET)
          },
        },
      },
    },
  ]
}

/** Says who the caller is, for every scheme alike. */
export const protectedEndpoint: Endpoint = {
  kind: 'api',
  path: '/api/protected',
  methods: {
    GET: { handle: ({ principal }) => json(200, { status: 'ok', user: principal!.subject }) },
  },
}

/** Filters by customer take the word `default` as well; rows hold ids. */
function withCustomerIds(call: Call): Call {
  if (!call.query.entries.some(([name]) => name.startsWith('customer'))) return call
  const entries = call.query.entries.map(([name, value]) =>
    /^customer(\[|$)/.test(name)
      ? ([name, value.split(',').map(customerId).join(',')] as const)
      : ([name, value] as const),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}
