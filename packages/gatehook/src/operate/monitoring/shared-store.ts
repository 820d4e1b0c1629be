/** The monitoring store on PostgreSQL: tables of the engine's database, on own connections. */
import type { Database, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { MonitoringStore } from './store.ts'

/** @param open opens the connections; called with the first statement */
export function createSharedStore(open: () => Promise<Database>): MonitoringStore {
  let opened: Promise<Database> | undefined
  const database = () => {
    opened ??= open().catch((error) => {
      opened = undefined // the next statement tries again
      throw error
    })
    return opened
  }
  return {
    shared: true,
    metrics: [],
    isAwake: () => true,
    all: async (statement) => (await database()).all(statement),
    get: async (statement) => (await database()).get(statement),
    arrays: async (statement) => (await database()).arrays(statement),
    async write(statements) {
      const run = (tx: Tx) => Promise.all(statements.map((statement) => tx.run(statement)))
      return (await database()).write(run, { single: true })
    },
    async bytes() {
      const db = await database()
      const row = await db.get(sql`SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relname LIKE 'gh\\_monitoring\\_%'
          AND relnamespace = current_schema()::regnamespace`)
      return Number(row?.bytes ?? 0)
    },
    async close() {
      await opened?.then((db) => db.close()).catch(() => undefined)
    },
  }
}
