/** Transactions of a SQLite file: their statements, and the commands of the writer connection. */
import type { Clock } from '../../kernel/clock.ts'
import type { Row, Statement, Tx, Value } from './database.ts'
import { createLoopPauses, type LoopPauses } from './loop-pauses.ts'
import { mayChange } from './sql.ts'
import type { Checkpoints } from './sqlite-checkpoints.ts'
import type { Connection } from './sqlite-connection.ts'
import { translateSqliteError, type UniqueIndex, uniquesCreatedBy } from './sqlite-errors.ts'
import type { SqliteLockWait } from './sqlite-lock-wait.ts'
import type { SqlitePlace } from './sqlite-place.ts'
import { uniqueIndexes } from './sqlite-schema.ts'
import type { SharedRead } from './sqlite-shared-read.ts'
import type { WriterConnection } from './sqlite-writer.ts'
import {
  runInSavepoint,
  storageUnavailable,
  type Transaction,
  type TransactionGuard,
} from './transaction.ts'

export class SqliteTx implements Tx {
  readonly scope: number | undefined
  counterSlot = () => 0
  readonly #connection: Connection
  readonly #transaction: Transaction
  readonly #uniques: (table: string) => UniqueIndex[]
  readonly #pauses: LoopPauses

  constructor(connection: Connection, transaction: Transaction, pauses: LoopPauses) {
    this.#connection = connection
    this.#transaction = transaction
    this.scope = transaction.scope
    this.#pauses = pauses
    this.#uniques = (table) => uniqueIndexes(connection, table)
  }

  get writes(): number {
    return this.#transaction.writes
  }

  async all<R extends Row>(statement: Statement): Promise<R[]> {
    return this.#performSoon(() => this.#connection.all(statement) as R[], statement)
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.#performSoon(() => this.#connection.get(statement) as R | undefined, statement)
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return this.#performSoon(() => this.#connection.arrays(statement), statement)
  }

  /** Needs no lock: this connection is the only writer. */
  async lock<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.get<R>(statement)
  }

  async hold<R extends Row>(statement: Statement): Promise<R[]> {
    return this.all<R>(statement)
  }

  async run(statement: Statement): Promise<number> {
    return this.#performSoon(() => this.#connection.run(statement))
  }

  runLater(statement: Statement): void {
    this.#perform(() => this.#connection.run(statement))
  }

  async insert(statement: Statement): Promise<number> {
    return this.#performSoon(() => this.#connection.insert(statement))
  }

  afterCommit(action: () => void): void {
    this.#transaction.requireUsable()
    this.#transaction.afterCommit.push(action)
  }

  attempt<T>(change: () => Promise<T>): Promise<T> {
    const exec = (text: string) => () => this.#connection.exec(text)
    const savepoint = {
      set: exec('SAVEPOINT attempt'),
      release: exec('RELEASE attempt'),
      rollBack: exec('ROLLBACK TO attempt; RELEASE attempt'),
    }
    return runInSavepoint(this.#transaction, savepoint, change)
  }

  async ddl(sql: string): Promise<void> {
    this.#transaction.writes++ // statements before a failed one have taken effect
    const uniques = (table: string) => [...this.#uniques(table), ...uniquesCreatedBy(sql, table)]
    this.#perform(() => this.#connection.exec(sql), undefined, uniques)
  }

  /** Performs a statement, after a pause if one is due. */
  #performSoon<T>(body: () => T, query?: Statement): T | Promise<T> {
    const pause = this.#pauses.pauseIfDue()
    return pause ? pause.then(() => this.#perform(body, query)) : this.#perform(body, query)
  }

  /** `query`: a statement that returns rows; with `RETURNING` it also writes. */
  #perform<T>(body: () => T, query?: Statement, uniques = this.#uniques): T {
    this.#transaction.requireUsable()
    try {
      const result = body()
      if (!query || mayChange(query)) this.#transaction.writes++
      return result
    } catch (error) {
      // SQLite has undone the changes of the failed statement.
      throw this.#transaction.fail(translateSqliteError(error, uniques))
    }
  }
}

interface WriterDeps {
  readonly guard: TransactionGuard
  readonly clock: Clock
  readonly sharedRead: SharedRead
  readonly checkpoints: Checkpoints
  readonly place: SqlitePlace
  readonly lockWait: SqliteLockWait
  readonly sync: () => Promise<void>
  readonly isOwner: () => boolean
}

export function createWriterConnection(
  connection: Connection,
  { guard, clock, sharedRead, checkpoints, place, lockWait, sync, isOwner }: WriterDeps,
): WriterConnection {
  const begin = connection.command('BEGIN IMMEDIATE')
  const rollback = connection.command('ROLLBACK')
  const commit = connection.command('COMMIT')
  const release = connection.command('RELEASE job')
  const rollbackTo = connection.command('ROLLBACK TO job')
  const pauses = createLoopPauses(clock)
  return {
    async begin() {
      pauses.begin()
      place.require()
      await lockWait.retry(begin)
      if (isOwner()) return
      rollback()
      throw storageUnavailable('another process has taken the database over')
    },
    async commit() {
      sharedRead.end() // reads then see the commit, and the log can restart from its beginning
      await lockWait.retry(commit)
      place.require() // a long transaction may have outlived the path
      checkpoints.afterCommit()
    },
    rollback,
    savepoint: connection.command('SAVEPOINT job'),
    release,
    rollbackToSavepoint() {
      rollbackTo()
      release()
    },
    get inTransaction() {
      return connection.inTransaction
    },
    perform: (transaction, change) =>
      guard.run(transaction, () => change(new SqliteTx(connection, transaction, pauses))),
    sync,
  }
}
