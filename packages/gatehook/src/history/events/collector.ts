/** Collects the events of one transaction, for the report of a dry run. */
import type { Tx } from '../../platform/storage/database.ts'
import type { StoredEvent } from './event.ts'

const COLLECTOR = Symbol('collector')

interface CollectingTx extends Tx {
  [COLLECTOR]?: StoredEvent[]
}

/** Returns a list to which the recorder adds each further event of the transaction. */
export function collectEvents(tx: Tx): readonly StoredEvent[] {
  const events: StoredEvent[] = []
  const collecting: CollectingTx = tx
  collecting[COLLECTOR] = events
  return events
}

/** Returns the list of a collecting transaction; undefined for others. */
export const collectorOf = (tx: Tx): StoredEvent[] | undefined => (tx as CollectingTx)[COLLECTOR]
