/**
 * One connection to a SQLite file and its prepared statements: synchronous, with SQLite's errors.
 * The only file that touches node:sqlite. Transactions and queues are not here.
 */
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../kernel/clock.ts'
import type { Row, Statement, Value } from './database.ts'
import { isBusy, translate } from './sqlite-errors.ts'
import { checkValues } from './transaction.ts'

/** Prepared statements kept per connection; more texts than that push out those not used lately. */
const STATEMENTS_MAX = 512

/** How long another process may hold the write lock before our callers get a 503. */
const BUSY_LIMIT_MS = 10_000
const BUSY_PAUSE_MAX_MS = 50

/** Pages that a copy moves between two reports: 256 KiB. */
const COPY_PAGES = 128

interface Prepared {
  readonly statement: StatementSync
  names: string[]
}

/** One connection and its prepared statements. Everything is synchronous. */
export class Connection {
  readonly #raw: DatabaseSync
  // Two generations: when the young one is full it becomes the old one, and what was in the old one
  // and never asked for since is let go. One look-up, where an exact LRU reorders on every hit.
  #young = new Map<string, Prepared>()
  #old = new Map<string, Prepared>()

  /** Never waits for a lock: a busy database throws, and the caller tries again later. */
  constructor(file: string, readOnly: boolean, checksReferences = true) {
    this.#raw = new DatabaseSync(file, {
      readOnly,
      timeout: 0,
      enableForeignKeyConstraints: checksReferences,
    })
  }

  all(statement: Statement): Row[] {
    const prepared = this.#prepare(statement)
    const rows = this.#rows(prepared.statement, statement.values)
    return rows.map((row) => toObject(prepared, row))
  }

  get(statement: Statement): Row | undefined {
    const prepared = this.#prepare(statement)
    const row = prepared.statement.get(...(statement.values as SQLInputValue[]))
    return row && toObject(prepared, row as unknown as Value[])
  }

  arrays(statement: Statement): Value[][] {
    return this.#rows(this.#prepare(statement).statement, statement.values)
  }

  run(statement: Statement): number {
    return Number(this.#run(statement).changes)
  }

  /** The key of the row that was inserted; RETURNING would build a table to hold it. */
  insert(statement: Statement): number {
    return Number(this.#run(statement).lastInsertRowid)
  }

  /** Text as it is, one statement or several: pragmas, DDL, the edges of a transaction. */
  exec(sql: string): void {
    this.#raw.exec(sql)
  }

  /** A statement without values or rows, prepared for good. */
  command(sql: string): () => void {
    const statement = this.#raw.prepare(sql)
    return () => void statement.run()
  }

  /**
   * Copies the database to a new file, off this thread. Inside a read transaction the copy is that
   * snapshot, whatever other connections write meanwhile. Calls `onProgress` with a fraction.
   */
  async copyTo(file: string, onProgress: (fraction: number) => void): Promise<void> {
    const rate = COPY_PAGES
    await backup(this.#raw, file, {
      rate,
      progress: ({ totalPages, remainingPages }) => onProgress(1 - remainingPages / totalPages),
    })
  }

  get inTransaction(): boolean {
    return this.#raw.isTransaction
  }

  close(): void {
    this.#raw.close()
  }

  /** After DDL: names and plans are made anew. */
  forget(): void {
    this.#young = new Map()
    this.#old = new Map()
  }

  #run(statement: Statement) {
    return this.#prepare(statement).statement.run(...(statement.values as SQLInputValue[]))
  }

  #rows(statement: StatementSync, values: readonly unknown[]): Value[][] {
    return statement.all(...(values as SQLInputValue[])) as unknown as Value[][]
  }

  #prepare(statement: Statement): Prepared {
    checkValues(statement.values)
    const kept = this.#young.get(statement.sql)
    if (kept) return kept
    let prepared = this.#old.get(statement.sql)
    if (!prepared) {
      prepared = { statement: this.#raw.prepare(statement.sql), names: [] }
      // Objects are made here from arrays: node:sqlite's have no prototype and cost twice as much.
      prepared.statement.setReturnArrays(true)
    }
    if (this.#young.size >= STATEMENTS_MAX / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(statement.sql, prepared)
    return prepared
  }
}

function toObject(prepared: Prepared, row: readonly Value[]): Row {
  // The names are read after the statement ran: only then has it followed a change of the schema.
  if (prepared.names.length !== row.length) {
    prepared.names = prepared.statement.columns().map((column) => column.name)
  }
  const { names } = prepared
  const out: Row = {}
  for (let at = 0; at < names.length; at++) out[names[at]!] = row[at]
  return out
}

/** Tries again while another process holds the lock, without blocking this thread. */
export async function patiently<T>(clock: Clock, body: () => T): Promise<T> {
  const start = clock.elapsedMs()
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, BUSY_PAUSE_MAX_MS)) {
    try {
      return body()
    } catch (error) {
      if (!isBusy(error) || clock.elapsedMs() - start > BUSY_LIMIT_MS) {
        throw translate(error, () => [])
      }
    }
    await delay(pauseMs)
  }
}
