/**
 * One connection to a SQLite file and its prepared statements: synchronous, with SQLite's errors.
 * Only this file uses node:sqlite. Contains no transactions and no queue.
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { Row, Statement, Value } from './database.ts'
import { isDiscarded, requireOne } from './discarded-rows.ts'
import { LOCK_MS } from './lock-wait.ts'
import { isBusy, translateSqliteError } from './sqlite-errors.ts'
import { checkValues } from './transaction.ts'

/** Cached prepared statements of one connection; further ones evict the least recently used. */
const STATEMENTS_MAX = 512

const BUSY_PAUSE_MAX_MS = 50

/** Pages that are copied between two progress reports: 256 KiB. */
const COPY_PAGES = 128

interface CachedStatement {
  readonly statement: StatementSync
  names: string[]
}

/** One connection and its prepared statements. Everything is synchronous. */
export class Connection {
  readonly #raw: DatabaseSync
  // Two generations: a full young generation becomes the old one, and the previous old one is
  // dropped. A hit costs one look-up; an exact LRU would reorder its entries on every hit.
  #young = new Map<string, CachedStatement>()
  #old = new Map<string, CachedStatement>()

  /** Never waits for a lock: a busy database throws, and the caller retries. */
  constructor(file: string, readOnly: boolean, checksReferences = true) {
    this.#raw = new DatabaseSync(file, {
      readOnly,
      timeout: 0,
      enableForeignKeyConstraints: checksReferences,
    })
  }

  all(statement: Statement): Row[] {
    const cached = this.#prepare(statement)
    const rows = this.#rows(cached.statement, statement.values)
    return rows.map((row) => toObject(cached, row))
  }

  get(statement: Statement): Row | undefined {
    const cached = this.#prepare(statement)
    const row = cached.statement.get(...(statement.values as SQLInputValue[]))
    return row && toObject(cached, row as unknown as Value[])
  }

  arrays(statement: Statement): Value[][] {
    return this.#rows(this.#prepare(statement).statement, statement.values)
  }

  run(statement: Statement): number {
    const count = Number(this.#run(statement).changes)
    if (isDiscarded(statement.sql, count)) requireOne(count, statement.sql)
    return count
  }

  /** Returns the key of the inserted row; RETURNING would create a temporary table. */
  insert(statement: Statement): number {
    const { changes, lastInsertRowid } = this.#run(statement)
    requireOne(Number(changes), statement.sql) // the key is that of an earlier row
    return Number(lastInsertRowid)
  }

  /** Runs one or several statements without values: pragmas, DDL, BEGIN, COMMIT. */
  exec(sql: string): void {
    this.#raw.exec(sql)
  }

  /** Prepares a statement without values or rows for repeated use. */
  command(sql: string): () => void {
    const statement = this.#raw.prepare(sql)
    return () => void statement.run()
  }

  /**
   * Copies the database to a new file on another thread. Inside a read transaction it copies that
   * snapshot, while other connections write. Calls `onProgress` with a fraction.
   */
  async copyTo(file: string, onProgress: (fraction: number) => void): Promise<void> {
    const rate = COPY_PAGES
    await backup(this.#raw, file, {
      rate,
      progress: ({ totalPages, remainingPages }) => onProgress(1 - remainingPages / totalPages),
    })
  }

  /** Ends a read transaction. After a damaged page COMMIT fails too, and ends it nevertheless. */
  endRead(): void {
    try {
      if (this.inTransaction) this.exec('COMMIT')
    } catch {
      // The reads have thrown their errors.
    }
  }

  get inTransaction(): boolean {
    return this.#raw.isTransaction
  }

  close(): void {
    this.#raw.close()
  }

  /** Clears the statement cache after DDL, which changes column names and plans. */
  clearStatements(): void {
    this.#young = new Map()
    this.#old = new Map()
  }

  #run(statement: Statement) {
    return this.#prepare(statement).statement.run(...(statement.values as SQLInputValue[]))
  }

  #rows(statement: StatementSync, values: readonly unknown[]): Value[][] {
    return statement.all(...(values as SQLInputValue[])) as unknown as Value[][]
  }

  #prepare(statement: Statement): CachedStatement {
    checkValues(statement.values)
    const youngStatement = this.#young.get(statement.sql)
    if (youngStatement) return youngStatement
    let cached = this.#old.get(statement.sql)
    if (!cached) {
      cached = { statement: this.#raw.prepare(statement.sql), names: [] }
      // This class creates row objects from arrays: those of node:sqlite cost twice as much.
      cached.statement.setReturnArrays(true)
    }
    if (this.#young.size >= STATEMENTS_MAX / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(statement.sql, cached)
    return cached
  }
}

function toObject(cached: CachedStatement, row: readonly Value[]): Row {
  // SQLite applies a schema change when the statement runs, so the names are read afterwards.
  if (cached.names.length !== row.length) {
    cached.names = cached.statement.columns().map((column) => column.name)
  }
  const { names } = cached
  const out: Row = {}
  for (let at = 0; at < names.length; at++) out[names[at]!] = row[at]
  return out
}

/**
 * Retries `body` while another process holds the lock, without blocking this thread. `onBusy`
 * receives the time for which it has waited.
 */
export async function retryWhileBusy<T>(
  clock: Clock,
  body: () => T,
  onBusy: (waitedMs: number) => void = () => undefined,
): Promise<T> {
  const start = clock.elapsedMs()
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, BUSY_PAUSE_MAX_MS)) {
    try {
      return body()
    } catch (error) {
      const waitedMs = clock.elapsedMs() - start
      if (!isBusy(error) || waitedMs > LOCK_MS) throw translateSqliteError(error, () => [])
      onBusy(waitedMs)
    }
    await delay(pauseMs)
  }
}
