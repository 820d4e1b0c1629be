/** From the address of a database to the database. */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { type Database, StorageError } from './database.ts'
import { openSqlite } from './sqlite.ts'

export interface OpenDeps {
  readonly log: Log
  /** Only its `elapsedMs` is read. */
  readonly clock?: Clock
  /** PostgreSQL: connections for transactions. */
  readonly poolSize?: number
  /** SQLite: pages a connection keeps; by default as many as serving takes. */
  readonly cacheKib?: number
  /**
   * A write is answered once committed, which outlives this process, and is on disk so much later
   * (`late-sync.ts`); on PostgreSQL when its WAL writer has come round, by default within 0.6 s.
   */
  readonly syncAfterMs?: number
  /** SQLite: whether foreign keys are checked. Default true; a move turns it off. */
  readonly checksReferences?: boolean
}

/**
 * Opens `sqlite:./path` or `postgres://…` (§2.6). Throws `StorageError` with one sentence for the
 * operator. `sqlite::memory:` is refused: each of the three connections would have its own.
 */
export async function openDatabase(url: string, deps: OpenDeps): Promise<Database> {
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Who keeps a file is spared the driver: 12 MB.
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(url, deps)
  }
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    throw new StorageError('The address of a database is sqlite:./path or postgres://….')
  }
  if (path.startsWith(':')) {
    throw new StorageError(
      `${url} is not supported: readers and the writer are connections of their own, ` +
        'which a database in memory cannot share. Use a file.',
    )
  }
  return openSqlite(path, deps)
}
