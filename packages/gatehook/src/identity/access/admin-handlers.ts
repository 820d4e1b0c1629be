/**
 * Builds the operations of paths under `/admin`: lists, single rows and changes. The changes
 * themselves, and the paths, are in the modules that use this.
 */
import { actorOf } from '../../history/audit/store.ts'
import { type Principal, toStoredPrincipal } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import type { AnyMember, JsonOf, Members, ValuesOf } from '../../protocol/fields/members.ts'
import type { Answer, Call, Handling, Route } from '../../protocol/http/call.ts'
import { requireMatch } from '../../protocol/http/conditional.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { OperationData, OperationOf } from '../../protocol/http/operation-data.ts'
import { Query } from '../../protocol/http/query.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import type { AdminTable } from './admin-table.ts'
import type { AdminCaller, Administration } from './administration.ts'
import { customerIdsOf } from './customer-reader.ts'

export interface AdminDeps {
  readonly list: Lister
  readonly perform: Perform
}

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

/** A request of an administrative change, with its valid body. */
interface AdminRequest<A extends Administration, I extends Members> {
  /** Its `write` is the transaction that also stores the response. */
  readonly admin: A
  readonly input: ValuesOf<I>
  readonly params: Call['params']
  readonly principal: Principal
  readonly caller: AdminCaller
  readonly call: Call
}

/** Creates the routes of declared operations. Callers and scope are in `route-table.ts`. */
export function adminHandlers<A extends Administration>(admin: A, { list, perform }: AdminDeps) {
  /**
   * The change and its response are one transaction, so that an idempotent replay returns the
   * stored response (§11.1). A change that fails before it writes stores nothing.
   */
  const changeOf =
    (find?: FindRow) =>
    <I extends Members, Q extends Members, O extends AnyMember>(
      operation: OperationOf<I, Q, O>,
      change: (request: AdminRequest<A, I>) => Promise<JsonOf<O>>,
    ): Route =>
      implement(operation, async (call, input) => {
        let answer: Answer | undefined
        const write: Administration['write'] = async (work) => {
          let result: unknown
          answer = await perform(call, async (tx) => {
            if (find) await requireRowMatch(find, tx, call)
            result = await work(tx)
            return respond(operation, result as JsonOf<O>)
          })
          return result as Awaited<ReturnType<typeof work>>
        }
        const { params } = call
        const principal = call.principal!
        const { customer, role } = principal
        const maker = toStoredPrincipal(principal)
        const caller = { actor: actorOf(call), customer, role, maker }
        await change({ admin: { ...admin, write }, input, params, principal, caller, call })
        return answer!
      })
  return {
    /** Lists a table. */
    list: (
      operation: OperationData,
      { collection, view }: Pick<AdminTable<unknown>, 'collection' | 'view'>,
    ): Route =>
      implement(operation, async (call) =>
        list(await withCustomerIds(admin.db, call), collection, view),
      ),

    /** Performs a change that ignores `If-Match`, such as a creation. */
    change: changeOf(),

    /** Reads and changes the row that `find` returns; a change honours `If-Match`. */
    row: (find: FindRow) => ({
      read: (operation: OperationData): Route =>
        implement(operation, async (call) => respond(operation, await find(admin.db, call))),
      change: changeOf(find),
    }),
  }
}

const IS_CUSTOMER = /^customer(\[|$)/

/** Replaces the word `default` and external ids by ids of customers, in filters by customer. */
export async function withCustomerIds(from: Reader, call: Call): Promise<Call> {
  if (!call.query.entries.some(([name]) => IS_CUSTOMER.test(name))) return call
  const entries = await Promise.all(
    call.query.entries.map(async ([name, value]) =>
      IS_CUSTOMER.test(name)
        ? ([name, await customerIdsOf(from, value)] as const)
        : ([name, value] as const),
    ),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}

/** Returns the route with `withCustomerIds`, before its handler validates the query. */
export function namingCustomers(from: Reader, { path, methods }: Route): Route {
  const naming = ([method, handling]: [string, Handling]) => {
    const handle: Handling['handle'] = async (call) =>
      handling.handle(await withCustomerIds(from, call))
    return [method, { ...handling, handle }]
  }
  return { path, methods: Object.fromEntries(Object.entries(methods).map(naming)) }
}
