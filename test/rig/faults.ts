/** Injects a failure into a transaction, at a statement named by its number. */
import type { Database, Tx } from '../../packages/gatehook/src/platform/storage/database.ts'

export interface Fault {
  /** Number of statements in all transactions since the injection. */
  readonly statementCount: () => number
  /** Removes the failure. */
  readonly restore: () => void
}

const READS = ['all', 'get', 'arrays', 'lock', 'hold'] as const
const STATEMENTS = [...READS, 'run', 'runLater', 'addLater', 'insert'] as const

/** Makes the `nth` statement of `db.write` throw, counted from 1; 0 only counts statements. */
export function failAt(db: Database, nth: number): Fault {
  const { write } = db
  let statementCount = 0
  const wrapped = (tx: Tx): Tx => {
    const counting = Object.create(tx) as Tx
    for (const name of STATEMENTS) {
      const run = (tx[name] as ((...statement: unknown[]) => unknown) | undefined)?.bind(tx)
      if (!run) continue
      ;(counting as unknown as Record<string, unknown>)[name] = (...statement: unknown[]) => {
        statementCount += 1
        if (statementCount === nth) throw new Error('injected failure')
        return run(...statement)
      }
    }
    counting.counterSlot = (spread) => tx.counterSlot(spread)
    counting.attempt = (change) => tx.attempt(change)
    counting.afterCommit = (action) => tx.afterCommit(action)
    return counting
  }
  db.write = (change, options) => write.call(db, (tx: Tx) => change(wrapped(tx)), options) as never
  return {
    statementCount: () => statementCount,
    restore: () => {
      db.write = write
    },
  }
}
