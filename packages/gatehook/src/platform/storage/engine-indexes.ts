/**
 * Indexes that the engine adds to tables in use, and those of earlier releases that it drops. On
 * PostgreSQL a started service does both beside requests (decision 0040); a migration does so in an
 * empty table, and on SQLite.
 */
import type { Database, IndexDdl } from './database.ts'
import { prepareStatement } from './sql.ts'

interface EngineIndex extends IndexDdl {
  readonly columns: readonly string[]
}

const DELIVERIES = 'gh_deliveries'

export const deliveryIndexes: readonly EngineIndex[] = [
  {
    table: DELIVERIES,
    name: 'gh_deliveries_failures',
    columns: ['webhook_no', 'id'],
    definition: 'ON gh_deliveries (webhook_no, id) WHERE failed = 1',
  },
  {
    table: DELIVERIES,
    name: 'gh_deliveries_failure_numbers',
    columns: ['no'],
    definition: 'ON gh_deliveries (no) WHERE failed = 1',
  },
]

/** Their conditions contain the state, which each attempt changes (decision 0058). */
export const formerDeliveryIndexes = ['due', 'due_at', 'failed', 'unsuccessful'].map(
  (name) => `${DELIVERIES}_${name}`,
)

/** The release whose nodes find deliveries by the queue; see `gh_delivery_nodes.release`. */
export const QUEUE_RELEASE = 61

const formerNode = prepareStatement(
  `SELECT 1 AS former FROM gh_delivery_nodes WHERE release < ${QUEUE_RELEASE} LIMIT 1`,
)

/** Whether a node of a release is registered that finds deliveries by their state. */
const hasFormerNodes = async (db: Database): Promise<boolean> =>
  db.dialect.shared && (await db.get(formerNode([]))) !== undefined

/** Returns the indexes of the engine that the database lacks. */
export async function listMissingEngineIndexes(db: Database): Promise<readonly EngineIndex[]> {
  const names = await db.indexes(DELIVERIES)
  return deliveryIndexes.filter(({ name }) => !names.includes(name))
}

/** Returns the names of indexes that only earlier releases use; none while one of them runs. */
export async function listUnusedEngineIndexes(db: Database): Promise<readonly string[]> {
  const names = await db.indexes(DELIVERIES)
  const unused = formerDeliveryIndexes.filter((name) => names.includes(name))
  return unused.length > 0 && (await hasFormerNodes(db)) ? [] : unused
}
