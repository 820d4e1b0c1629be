/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, type Endpoint, json, noContent } from '../http/call.ts'
import { Query } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
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
const secret = (status: number, value: unknown, headers?: Record<string, string>): Answer => ({
  ...json(status, value, { 'cache-control': 'no-store', ...headers }),
  secret: true,
})

/**
 * An act whose transaction ends in the answer, so that a repeat is not done twice (§11.1). What
 * the act refuses before it writes is refused before anything is kept for a repeat.
 */
const acting =
  (admin: Administration, perform: Perform) =>
  async <T>(
    call: Call,
    act: (admin: Administration) => Promise<T>,
    show: (done: T) => Answer,
  ): Promise<Answer> => {
    let answer: Answer | undefined
    const write: Administration['write'] = async (change) => {
      let done: unknown
      answer = await perform(call, async (tx) => show((done = await change(tx)) as T))
      return done as Awaited<ReturnType<typeof change>>
    }
    await act({ ...admin, write })
    return answer!
  }

export interface AccessDeps {
  readonly list: Lister
  readonly perform: Perform
}

export function customerEndpoints(
  admin: Administration,
  { list, perform }: AccessDeps,
): Endpoint[] {
  const act = acting(admin, perform)
  return [
    {
      kind: 'admin',
      path: '/admin/customers',
      methods: {
        GET: { scope, handle: (call) => list(call, customerCollection, customerView) },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createCustomer(within, call.body, actorOf(call.principal!)),
              (made) => json(201, made, { location: `/admin/customers/${made.id}` }),
            ),
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
          handle: (call) =>
            act(
              call,
              (within) =>
                patchCustomer(within, call.params.id!, call.body, actorOf(call.principal!)),
              (patched) => json(200, patched),
            ),
        },
      },
    },
  ]
}

export function keyEndpoints(admin: Administration, { list, perform }: AccessDeps): Endpoint[] {
  const act = acting(admin, perform)
  return [
    {
      kind: 'admin',
      path: '/admin/keys',
      methods: {
        GET: { scope, handle: (call) => list(withCustomerIds(call), keyCollection, keyView) },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createKey(within, call.body, callerOf(call)),
              (made) => secret(201, made, { location: `/admin/keys/${made.id}` }),
            ),
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
          handle: (call) =>
            act(
              call,
              (within) => revokeKey(within, call.params.id!, callerOf(call)),
              () => noContent(),
            ),
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
          handle: (call) =>
            act(
              call,
              (within) => rollKey(within, call.params.id!, call.body, callerOf(call)),
              (rolled) => secret(200, rolled),
            ),
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
