/**
 * How a handler changes things: one transaction that ends in the answer. Everything a repeat of the request
 * needs (§11.1) can so commit with the effect itself.
 */
import type { Answer, Call } from '../http/call.ts'
import type { Database, Tx } from '../storage/database.ts'

/** Runs `change` in one transaction and gives its answer. `change` may run again after a deadlock. */
export type Perform = (call: Call, change: (tx: Tx) => Promise<Answer>) => Promise<Answer>

export const performOnce =
  (db: Database): Perform =>
  (_call, change) =>
    db.write(change)
