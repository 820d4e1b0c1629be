/**
 * One read transaction for all reads of one event-loop iteration. Separate transactions would each
 * acquire and release SQLite's lock, which is a third of the cost of a page.
 */
import type { Connection } from './sqlite-connection.ts'

/** Changes when any other connection commits, including the writer. */
const DATA_VERSION = { sql: 'PRAGMA data_version', text: '', values: [] }

export interface SharedRead {
  /** Starts a transaction that lasts until the end of this event-loop iteration. */
  begin(): void
  /** Ends the transaction, so that the next read sees all commits until then. */
  end(): void
  /**
   * Returns a number that changes with every commit of any process. Commits that precede a request
   * of this iteration are visible: they precede the start of the transaction too. Undefined if the
   * file cannot be read: the statement of the page then throws the reason.
   */
  stamp(): number | undefined
}

export function createSharedRead(connection: Connection): SharedRead {
  const beginTransaction = connection.command('BEGIN')
  const commit = connection.command('COMMIT')
  let isOpen = false
  let stamp: number | undefined
  const end = () => {
    if (!isOpen) return
    isOpen = false
    stamp = undefined
    if (!connection.inTransaction) return
    try {
      commit()
    } catch {
      // After a damaged page COMMIT fails too. The reads have thrown their errors, and no request
      // waits for this result.
    }
  }
  const begin = () => {
    if (isOpen) return
    if (!connection.inTransaction) beginTransaction()
    isOpen = true
    setImmediate(end)
  }
  return {
    begin,
    end,
    stamp() {
      try {
        begin()
        stamp ??= connection.arrays(DATA_VERSION)[0]![0] as number
        return stamp
      } catch {
        return undefined
      }
    },
  }
}
