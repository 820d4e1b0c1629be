/**
 * The request that a transaction of `perform` belongs to, for the parts that run inside of it: an
 * event records which request caused it, and jobs take the turns of its caller.
 */

import { jobCallerOf } from '../../platform/jobs/job.ts'
import { setJobCaller } from '../../platform/jobs/queue.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Call } from '../http/call.ts'

const REQUEST = Symbol('request')

interface RequestTx extends Tx {
  [REQUEST]?: Call
}

/** Sets a property: a WeakMap retains each request until the next major garbage collection. */
export function setRequestOf(tx: Tx, call: Call): void {
  const own: RequestTx = tx
  own[REQUEST] = call
  if (call.principal) setJobCaller(tx, jobCallerOf(call.principal))
}

/** Returns the request of a transaction; undefined outside of `perform`. */
export const requestOf = (tx: Tx): Call | undefined => (tx as RequestTx)[REQUEST]
