/**
 * Snapshots on SQLite: one at a time, because they share one connection. Customers take turns, as
 * on PostgreSQL, and other requests run after some work of them (§11.5).
 */
import { createGroupTurns, LISTS_WAITING_MAX } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { Reader } from './database.ts'
import { createLoopPauses } from './loop-pauses.ts'
import type { Connection } from './sqlite-connection.ts'
import { Transaction, type TransactionGuard } from './transaction.ts'

/** The engine, which takes turns with customers. */
const ENGINE: TurnKey = 'engine'

interface SnapshotDeps {
  readonly clock: Clock
  readonly guard: TransactionGuard
  /** Creates a reader; `check` runs before each of its statements. */
  readonly createReader: (check: () => void) => Reader
}

export function createSnapshots(
  connection: Pick<Connection, 'exec' | 'endRead'>,
  { clock, guard, createReader }: SnapshotDeps,
) {
  const turns = createGroupTurns(1, { waitingPerKey: LISTS_WAITING_MAX })
  const pauses = createLoopPauses(clock)
  const open = new Set<Promise<unknown>>()
  const run = async <T>(read: (reader: Reader) => Promise<T>): Promise<T> => {
    await pauses.pauseIfDue()
    const transaction = new Transaction()
    connection.exec('BEGIN')
    try {
      const reader = createReader(() => transaction.requireUsable())
      return await guard.run(transaction, () => read(reader))
    } finally {
      transaction.isOpen = false
      connection.endRead()
    }
  }
  return {
    async take<T>(customer: TurnKey = ENGINE, read: (reader: Reader) => Promise<T>): Promise<T> {
      if (open.size === 0) pauses.begin()
      const result = turns(customer, () => run(read))
      open.add(result)
      try {
        return await result
      } finally {
        open.delete(result)
      }
    },
    /** Resolves when the snapshots that were taken have ended. */
    finished: () => Promise.allSettled(open),
  }
}
