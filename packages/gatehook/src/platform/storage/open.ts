/** Opens the database that an address names. */
import type { Clock } from '../../kernel/clock.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import type { Log } from '../../kernel/log.ts'
import type { CommitPosition } from './commit-position.ts'
import { type Database, StorageError } from './database.ts'
import { openSqlite } from './sqlite.ts'
import type { Ownership } from './sqlite-owner.ts'
import type { TableState } from './table-state.ts'

export interface OpenDeps {
  readonly log: Log
  /** Measures elapsed time. */
  readonly clock?: Clock
  /** PostgreSQL: connections for transactions and for reads; default: those of the target. */
  readonly connections?: { readonly transactions: number; readonly reads: number } | undefined
  /** SQLite: page cache of one connection in KiB. Default 32768. */
  readonly cacheKib?: number
  /**
   * Acknowledges writes at their commit and syncs the log this much later (`delayed-sync.ts`), in
   * milliseconds. PostgreSQL ignores the number: its WAL writer syncs within 0.6 s by default.
   */
  readonly syncAfterMs?: number
  /**
   * PostgreSQL: plans each statement once per connection, and without scans of whole tables, which
   * may be empty then. A plan for the values at hand is cheaper in a partitioned table, and
   * planning it each time costs more than it saves.
   */
  readonly plansOnce?: boolean
  /** PostgreSQL: tables whose rows are locked together when the tables are distributed. */
  readonly referenceTables?: readonly string[]
  /** PostgreSQL: the sentence of the `StorageError` if the tables are distributed. */
  readonly onDistributed?: string | undefined
  /** PostgreSQL: receives the position of each commit. */
  readonly commits?: CommitPosition | undefined
  /** PostgreSQL: the findings of the last check of the tables. */
  readonly tables?: TableState | undefined
  /** SQLite: whether foreign keys are checked. Default true; a move disables the check. */
  readonly checksReferences?: boolean
  /** SQLite: holds the file, as a service does (`sqlite-owner.ts`). */
  readonly ownership?: Ownership | undefined
  /** SQLite: called when another process has taken the file over. */
  readonly onTakenOver?: (() => void) | undefined
}

/**
 * Opens `sqlite:./path` or `postgres://…` (§2.6). Throws `StorageError` with one sentence for the
 * operator. Rejects `sqlite::memory:`: each of the three connections would have its own database.
 */
export async function openDatabase(
  address: string | DatabaseTarget,
  deps: OpenDeps,
): Promise<Database> {
  const target = typeof address === 'string' ? { url: address } : address
  const { url } = target
  if (/^postgres(ql)?:\/\//.test(url)) {
    // The driver takes 12 MB, which installations on SQLite save.
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(target, deps)
  }
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
  if (path === undefined) {
    throw new StorageError('The address of a database is sqlite:./path or postgres://….')
  }
  if (path.startsWith(':')) {
    throw new StorageError(
      `${url} is not supported: readers and the writer use separate connections, ` +
        'which cannot share a database in memory. Use a file.',
    )
  }
  return openSqlite(path, { ...deps, generation: target.generation })
}
