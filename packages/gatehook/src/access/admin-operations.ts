/**
 * Builds the operations of paths under `/admin`: lists, single rows and changes. The changes
 * themselves, and the paths, are in the modules that use this.
 */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, type Handling, json } from '../http/call.ts'
import { requireMatch } from '../http/conditional.ts'
import { Query } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { AdminTable } from './admin-table.ts'
import { type AdminCaller, type Administration, customerId } from './administration.ts'

export interface AdminDeps {
  readonly list: Lister
  readonly perform: Perform
}

/** Returns a response that contains a secret, with `Cache-Control: no-store`. */
export const secretResponse = (
  status: number,
  value: unknown,
  headers?: Record<string, string>,
): Answer => ({
  ...json(status, value, { 'cache-control': 'no-store', ...headers }),
  secret: true,
})

/** Returns the JSON form of the row that a path names. Throws 404. */
type FindRow = (from: Reader, call: Call) => Promise<unknown>

/** Locks the row until `tx` ends, and throws 412 if it does not match `If-Match` (§11.2). */
async function requireRowMatch(find: FindRow, tx: Tx, call: Call): Promise<void> {
  if (call.headers['if-match'] === undefined) return
  const lockingReader: Reader = {
    all: (statement) => tx.all(statement),
    arrays: (statement) => tx.arrays(statement),
    get: (statement) => tx.lock(statement),
  }
  const text = JSON.stringify(await find(lockingReader, call))
  requireMatch(call, () => text)
}

/** Creates builders of handlers. The scope of each path is in `route-table.ts`. */
export function adminOperations<A extends Administration>(admin: A, { list, perform }: AdminDeps) {
  /**
   * The change and its response are one transaction, so that an idempotent replay returns the
   * stored response (§11.1). A change that fails before it writes stores nothing.
   */
  const changeOf =
    (find?: FindRow) =>
    <T>(
      body: 'required' | 'optional' | 'none',
      change: (admin: A, call: Call, caller: AdminCaller) => Promise<T>,
      respond: (result: T) => Answer = (result) => json(200, result),
    ): Handling => ({
      body: body === 'none' ? undefined : body,
      async handle(call) {
        let answer: Answer | undefined
        const write: Administration['write'] = async (work) => {
          let result: unknown
          answer = await perform(call, async (tx) => {
            if (find) await requireRowMatch(find, tx, call)
            return respond((result = await work(tx)) as T)
          })
          return result as Awaited<ReturnType<typeof work>>
        }
        const caller = { actor: actorOf(call), customer: call.principal!.customer }
        await change({ ...admin, write }, call, caller)
        return answer!
      },
    })
  return {
    /** Lists a table. */
    list: ({ collection, view }: Pick<AdminTable<unknown>, 'collection' | 'view'>): Handling => ({
      handle: (call) => list(withCustomerIds(call), collection, view),
    }),

    /** Performs a change that ignores `If-Match`, such as a creation. */
    change: changeOf(),

    /** Reads and changes the row that `find` returns; a change honours `If-Match`. */
    row: (find: FindRow) => ({
      read: {
        handle: async (call: Call) => json(200, await find(admin.db, call)),
      },
      change: changeOf(find),
    }),
  }
}

/** Replaces the word `default` by the id of the default customer in filters by customer. */
function withCustomerIds(call: Call): Call {
  if (!call.query.entries.some(([name]) => name.startsWith('customer'))) return call
  const entries = call.query.entries.map(([name, value]) =>
    /^customer(\[|$)/.test(name)
      ? ([name, value.split(',').map(customerId).join(',')] as const)
      : ([name, value] as const),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}
