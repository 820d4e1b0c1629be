/** The monitoring store on PostgreSQL: tables of the engine's database, on own connections. */
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { bytesOf } from '../../platform/storage/relation-bytes.ts'
import { raw, sql } from '../../platform/storage/sql.ts'
import { isStorageUnavailable } from '../../platform/storage/storage-failure.ts'
import type { MonitoringStore } from './store.ts'

/**
 * @param open opens the connections; called with the first statement
 * @param main the engine's database: it serves reads while the store has no connection, by a
 *   replica where there is one
 */
export function createSharedStore(open: () => Promise<Database>, main: Reader): MonitoringStore {
  let opened: Promise<Database> | undefined
  const database = () => {
    opened ??= open().catch((error) => {
      opened = undefined // the next statement tries again
      throw error
    })
    return opened
  }
  const read = async <T>(run: (from: Reader) => Promise<T>): Promise<T> => {
    try {
      return await run(await database())
    } catch (error) {
      if (!isStorageUnavailable(error)) throw error
      return run(main)
    }
  }
  return {
    metrics: [],
    isAwake: () => true,
    all: (statement) => read((from) => from.all(statement)),
    get: (statement) => read((from) => from.get(statement)),
    arrays: (statement) => read((from) => from.arrays(statement)),
    async write(statements) {
      const run = (tx: Tx) => Promise.all(statements.map((statement) => tx.run(statement)))
      return (await database()).write(run, { single: true })
    },
    async bytes() {
      const row = await read((from) =>
        from.get(sql`SELECT sum(${raw(bytesOf('pg_total_relation_size'))}) AS bytes FROM pg_class
          WHERE relkind = 'r' AND relname LIKE 'gh\\_monitoring\\_%'
            AND relnamespace = current_schema()::regnamespace`),
      )
      return Number(row?.bytes ?? 0)
    },
    async close() {
      await opened?.then((db) => db.close()).catch(() => undefined)
    },
  }
}
