/**
 * All reads of one turn of the event loop see the database at one moment: one transaction for all
 * of them, where each alone would take and return SQLite's lock, a third of what a page costs.
 */
import type { Connection } from './sqlite-connection.ts'

/** Sees what any other connection committed, the writer's included. */
const DATA_VERSION = { sql: 'PRAGMA data_version', text: '', values: [] }

export interface Turn {
  /** From here to the end of the turn, reads of the connection see one moment. */
  begin(): void
  /** What is read next sees what was committed until then. */
  end(): void
  /**
   * Changes with every commit, of other processes too: what they committed before a request of this
   * turn was sent was there when the turn began.
   */
  stamp(): number
}

export function turnOf(connection: Connection): Turn {
  const beginTransaction = connection.command('BEGIN')
  const commit = connection.command('COMMIT')
  let open = false
  let stamp: number | undefined
  const end = () => {
    if (!open) return
    open = false
    stamp = undefined
    if (connection.inTransaction) commit()
  }
  const begin = () => {
    if (open) return
    beginTransaction()
    open = true
    setImmediate(end)
  }
  return {
    begin,
    end,
    stamp() {
      begin()
      stamp ??= connection.arrays(DATA_VERSION)[0]![0] as number
      return stamp
    },
  }
}
