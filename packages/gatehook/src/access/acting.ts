/**
 * What paths under `/admin` share: a list, a row, an act of a room made into an operation. The acts
 * themselves, and which paths there are, stand in the rooms.
 */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, type Endpoint, json, type Operation } from '../http/call.ts'
import { Query } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { ADMIN_SCOPE, type Administration, type Caller, customerId } from './administration.ts'
import type { ShownRows } from './shown-rows.ts'

const scope = ADMIN_SCOPE

export interface AdminDeps {
  readonly list: Lister
  readonly perform: Perform
}

/** An answer that holds a secret is kept by nobody on its way. */
export const secret = (
  status: number,
  value: unknown,
  headers?: Record<string, string>,
): Answer => ({
  ...json(status, value, { 'cache-control': 'no-store', ...headers }),
  secret: true,
})

export const adminPath = (path: string, methods: Endpoint['methods']): Endpoint => ({
  kind: 'admin',
  path,
  methods,
})

/** The operations of a room whose acts take `admin`. */
export function acting<A extends Administration>(admin: A, { list, perform }: AdminDeps) {
  return {
    list: ({ collection, view }: Pick<ShownRows<unknown>, 'collection' | 'view'>): Operation => ({
      scope,
      handle: (call) => list(withCustomerIds(call), collection, view),
    }),

    read: (look: (call: Call) => Promise<unknown>): Operation => ({
      scope,
      handle: async (call) => json(200, await look(call)),
    }),

    /**
     * An act whose transaction ends in the answer, so that a repeat is not done twice (§11.1). What
     * the act refuses before it writes is refused before anything is kept for a repeat.
     */
    act: <T>(
      body: 'required' | 'optional' | 'none',
      act: (admin: A, call: Call, by: Caller) => Promise<T>,
      show: (done: T) => Answer = (done) => json(200, done),
    ): Operation => ({
      scope,
      body: body === 'none' ? undefined : body,
      async handle(call) {
        let answer: Answer | undefined
        const write: Administration['write'] = async (change) => {
          let done: unknown
          answer = await perform(call, async (tx) => show((done = await change(tx)) as T))
          return done as Awaited<ReturnType<typeof change>>
        }
        const { principal } = call
        const by = { actor: actorOf(principal!), customer: principal!.customer }
        await act({ ...admin, write }, call, by)
        return answer!
      },
    }),
  }
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
