/**
 * Indexes that the engine adds to tables in use. On PostgreSQL a started service creates them
 * beside requests (decision 0040); the migration creates them in an empty table, and on SQLite.
 */
import type { Database, IndexDdl } from './database.ts'

interface EngineIndex extends IndexDdl {
  readonly columns: readonly string[]
}

export const DUE_INDEX = 'gh_deliveries_due_at'

const engineIndexes: readonly EngineIndex[] = [
  {
    table: 'gh_deliveries',
    name: DUE_INDEX,
    columns: ['next_attempt_at', 'webhook_no'],
    definition: "ON gh_deliveries (next_attempt_at, webhook_no) WHERE state = 'pending'",
  },
]

/** Returns the indexes of the engine that the database lacks. */
export async function listMissingEngineIndexes(db: Database): Promise<readonly EngineIndex[]> {
  const names = new Set<string>()
  for (const table of new Set(engineIndexes.map((index) => index.table))) {
    for (const name of await db.indexes(table)) names.add(name)
  }
  return engineIndexes.filter(({ name }) => !names.has(name))
}
