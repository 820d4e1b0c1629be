/**
 * What paths under `/admin` share: a list, a row, an act of a room made into an operation. The acts
 * themselves, and which paths there are, stand in the rooms.
 */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, json, type Operation } from '../http/call.ts'
import { requireMatch } from '../http/conditional.ts'
import { Query } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import type { Reader, Tx } from '../storage/database.ts'
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

/** The row a path is about, as it is shown. Throws 404. */
type Look = (from: Reader, call: Call) => Promise<unknown>

/** 412 when the row is not as `If-Match` asks for (§11.2); until `tx` ends it stays as it is. */
async function guard(look: Look, tx: Tx, call: Call): Promise<void> {
  if (call.headers['if-match'] === undefined) return
  const locking: Reader = {
    all: (statement) => tx.all(statement),
    arrays: (statement) => tx.arrays(statement),
    get: (statement) => tx.lock(statement),
  }
  const text = JSON.stringify(await look(locking, call))
  requireMatch(call, () => text)
}

/** The operations of a room whose acts take `admin`, or the scope that a row names instead. */
export function acting<A extends Administration>(admin: A, { list, perform }: AdminDeps) {
  /**
   * An act whose transaction ends in the answer, so that a repeat is not done twice (§11.1). What
   * the act refuses before it writes is refused before anything is kept for a repeat.
   */
  const actOn =
    (look?: Look, needed: string = scope) =>
    <T>(
      body: 'required' | 'optional' | 'none',
      act: (admin: A, call: Call, by: Caller) => Promise<T>,
      show: (done: T) => Answer = (done) => json(200, done),
    ): Operation => ({
      scope: needed,
      body: body === 'none' ? undefined : body,
      async handle(call) {
        let answer: Answer | undefined
        const write: Administration['write'] = async (change) => {
          let done: unknown
          answer = await perform(call, async (tx) => {
            if (look) await guard(look, tx, call)
            return show((done = await change(tx)) as T)
          })
          return done as Awaited<ReturnType<typeof change>>
        }
        const by = { actor: actorOf(call), customer: call.principal!.customer }
        await act({ ...admin, write }, call, by)
        return answer!
      },
    })
  return {
    list: ({ collection, view }: Pick<ShownRows<unknown>, 'collection' | 'view'>): Operation => ({
      scope,
      handle: (call) => list(withCustomerIds(call), collection, view),
    }),

    /** What makes one. */
    act: actOn(),

    /** What reads one, and what changes it. */
    row: (look: Look, needed: string = scope) => ({
      read: {
        scope: needed,
        handle: async (call: Call) => json(200, await look(admin.db, call)),
      },
      act: actOn(look, needed),
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
