/** Collects the events of one transaction, for the report of a dry run. */
import type { Tx } from '../../platform/storage/database.ts'
import type { StoredEvent } from './event.ts'

const COLLECTOR = Symbol('collector')

interface CollectingTx extends Tx {
  [COLLECTOR]?: StoredEvent[]
}

/**
 * Returns a list to which the recorder adds each further event of the transaction. A savepoint that
 * is rolled back takes its events from the list.
 */
export function collectEvents(tx: Tx): readonly StoredEvent[] {
  const events: StoredEvent[] = []
  const collecting: CollectingTx = tx
  const attempt = tx.attempt.bind(tx)
  collecting[COLLECTOR] = events
  collecting.attempt = async (change) => {
    const { length } = events
    try {
      return await attempt(change)
    } catch (error) {
      events.length = length
      throw error
    }
  }
  return events
}

/** Returns the list of a collecting transaction; undefined for others. */
export const collectorOf = (tx: Tx): StoredEvent[] | undefined => (tx as CollectingTx)[COLLECTOR]
