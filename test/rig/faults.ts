/**
 * Makes a database fail in the middle of a transaction, at a statement that is named by its
 * number.
 */
import type { Database, Tx } from '../../packages/gatehook/src/storage/database.ts'

export interface Fault {
  /** Statements seen so far, in all transactions since. */
  readonly seen: () => number
  readonly mend: () => void
}

const STATEMENTS = ['all', 'get', 'arrays', 'lock', 'hold', 'run', 'insert'] as const

/**
 * From now on, until it is mended, the `nth` statement (from 1) of `db.write` throws; 0: none
 * does.
 */
export function failAt(db: Database, nth: number): Fault {
  const whole = db.write
  let seen = 0
  const wrapped = (tx: Tx): Tx => {
    const counting = Object.create(tx) as Tx
    for (const name of STATEMENTS) {
      const run = (tx[name] as (statement: unknown) => unknown).bind(tx)
      ;(counting as unknown as Record<string, unknown>)[name] = (statement: unknown) => {
        seen += 1
        if (seen === nth) throw new Error('injected: the power is gone')
        return run(statement)
      }
    }
    counting.attempt = (change) => tx.attempt(change)
    counting.afterCommit = (action) => tx.afterCommit(action)
    return counting
  }
  db.write = (change) => whole.call(db, (tx: Tx) => change(wrapped(tx))) as never
  return {
    seen: () => seen,
    mend: () => {
      db.write = whole
    },
  }
}
