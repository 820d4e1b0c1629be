/**
 * What paths under `/admin` share: an act of a room made into the handler of a path. The acts
 * themselves, and which paths there are, stand in the rooms.
 */
import { actorOf } from '../audit/store.ts'
import { type Answer, type Call, json } from '../http/call.ts'
import { Query } from '../http/query.ts'
import type { Perform } from '../idempotency/perform.ts'
import { type Administration, type Caller, customerId } from './administration.ts'

/** Who asks, as the acts of this house take it. */
export const callerOf = ({ principal }: Call): Caller => ({
  actor: actorOf(principal!),
  customer: principal!.customer,
})

/** An answer that holds a secret is kept by nobody on its way. */
export const secret = (
  status: number,
  value: unknown,
  headers?: Record<string, string>,
): Answer => ({
  ...json(status, value, { 'cache-control': 'no-store', ...headers }),
  secret: true,
})

/**
 * An act whose transaction ends in the answer, so that a repeat is not done twice (§11.1). What
 * the act refuses before it writes is refused before anything is kept for a repeat.
 */
export const acting =
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

/** Filters by customer take the word `default` as well; rows hold ids. */
export function withCustomerIds(call: Call): Call {
  if (!call.query.entries.some(([name]) => name.startsWith('customer'))) return call
  const entries = call.query.entries.map(([name, value]) =>
    /^customer(\[|$)/.test(name)
      ? ([name, value.split(',').map(customerId).join(',')] as const)
      : ([name, value] as const),
  )
  return Object.create(call, { query: { value: new Query(entries) } }) as Call
}
