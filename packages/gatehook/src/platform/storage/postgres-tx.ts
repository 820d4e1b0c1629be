/**
 * The handles of transactions on PostgreSQL: of one alone, and of writes that commit together.
 * `postgres-transaction.ts` begins and ends their transactions.
 */
import type pg from 'pg'
import type { Row, Statement, Tx, Value } from './database.ts'
import { requireOne } from './discarded-rows.ts'
import { referenceLock } from './distribution/row-locks.ts'
import { isRetryable, translatePostgresError, violationOf } from './postgres-errors.ts'
import type { StatementQueue } from './postgres-queue.ts'
import type { ResultShape } from './postgres-send.ts'
import { mayChange } from './sql.ts'
import { checkValues, runInSavepoint, type Transaction } from './transaction.ts'

const ROW_LOCKS = {
  update: ' FOR UPDATE',
  change: ' FOR NO KEY UPDATE',
  share: ' FOR KEY SHARE',
} as const

/** Writers of one total wait for each other only if they use the same row. */
const COUNTER_SLOTS = 16

/** Sums that wait for the commit, by their key, each with the statement that stores it. */
export class PendingSums {
  #entries = new Map<string, { readonly sum: number; readonly add: (sum: number) => Statement }>()

  add(key: string, difference: number, add: (sum: number) => Statement): void {
    const former = this.#entries.get(key)
    this.#entries.set(key, { add, ...former, sum: (former?.sum ?? 0) + difference })
  }

  /** Returns the statements in the order of their keys: transactions lock rows in one order. */
  statements(): readonly Statement[] {
    const entries = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1))
    return entries.filter(([, { sum }]) => sum !== 0).map(([, { sum, add }]) => add(sum))
  }

  /** Returns the function that restores the sums of now. */
  mark(): () => void {
    const entries = new Map(this.#entries)
    return () => {
      this.#entries = entries
    }
  }
}

export class PostgresTx implements Tx {
  readonly hasRoundTrips = true
  readonly scope: number | undefined
  readonly #referenceTables: ReadonlySet<string>
  readonly #queue: StatementQueue
  readonly #transaction: Transaction
  /** Undefined in a transaction that reads what it has written: own code. */
  readonly #sums: PendingSums | undefined
  #counterSlot: number | undefined
  /** The number of savepoints around the current statement. */
  #depth = 0

  constructor(
    queue: StatementQueue,
    transaction: Transaction,
    referenceTables: ReadonlySet<string>,
    sums?: PendingSums,
  ) {
    this.#referenceTables = referenceTables
    this.#queue = queue
    this.#transaction = transaction
    this.#sums = sums
    this.scope = transaction.scope
  }

  /**
   * Own code locks its slot early, and for long: it has slots of its own. A transaction has one, so
   * that no two wait for each other.
   */
  counterSlot(spread: number): number {
    this.#counterSlot ??= (spread % COUNTER_SLOTS) + (this.#sums ? 0 : COUNTER_SLOTS)
    return this.#counterSlot
  }

  addLater(key: string, difference: number, add: (sum: number) => Statement): void {
    if (this.#sums) this.#sums.add(key, difference, add)
    else this.runLater(add(difference))
  }

  get writes(): number {
    return this.#transaction.writes
  }

  async all<R extends Row>(statement: Statement): Promise<R[]> {
    return (await this.#perform(statement)).rows
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return (await this.#perform(statement)).rows[0]
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return (await this.#perform(statement, { arrays: true })).rows as unknown as Value[][]
  }

  async lock<R extends Row>(
    statement: Statement,
    purpose: 'update' | 'change' = 'update',
  ): Promise<R | undefined> {
    return (await this.#perform(statement, this.#rowLock(statement, purpose))).rows[0]
  }

  async hold<R extends Row>(statement: Statement): Promise<R[]> {
    return (await this.#perform(statement, this.#rowLock(statement, 'share'))).rows
  }

  async run(statement: Statement): Promise<number> {
    return (await this.#perform(statement)).rowCount ?? 0
  }

  runLater(statement: Statement): void {
    this.#transaction.requireUsable()
    checkValues(statement.values)
    this.#noteWrite(statement)
    this.#queue.addStatement(statement, {}, false)
  }

  async insert(statement: Statement): Promise<number> {
    const { rows } = await this.#perform(statement, { suffix: ' RETURNING id' })
    requireOne(rows.length, statement.text)
    return rows[0].id
  }

  afterCommit(action: () => void): void {
    this.#transaction.requireUsable()
    this.#transaction.afterCommit.push(action)
  }

  async attempt<T>(change: () => Promise<T>): Promise<T> {
    const queue = this.#queue
    const position = queue.position
    // The release of an inner savepoint may be discarded before it is sent: names must differ.
    const name = `attempt_${++this.#depth}`
    const restoreSums = this.#sums?.mark()
    const savepoint = {
      set: () => queue.addCommand(`SAVEPOINT ${name}`),
      release: () => queue.addCommand(`RELEASE SAVEPOINT ${name}`),
      rollBack: async () => {
        restoreSums?.()
        if (!queue.hasSent(position)) return queue.discardFrom(position)
        await queue.reset()
        await queue.query(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`)
      },
    }
    try {
      return await runInSavepoint(this.#transaction, savepoint, change)
    } catch (error) {
      // `write` must receive a deadlock, even if the caller catches it.
      throw isRetryable(error) ? this.#transaction.fail(error) : error
    } finally {
      this.#depth--
    }
  }

  async ddl(sql: string): Promise<void> {
    this.#transaction.requireUsable()
    this.#transaction.writes++
    await this.#queue.complete().catch((error) => this.#fail(error))
    await this.#queue.query(sql).catch((error) => this.#fail(error))
  }

  /** Returns the suffix that locks rows; in a reference table, an earlier statement does. */
  #rowLock({ text }: Statement, kind: keyof typeof ROW_LOCKS): ResultShape {
    const tableLock = referenceLock(text, kind, this.#referenceTables)
    if (tableLock === undefined) return { suffix: ROW_LOCKS[kind] }
    this.runLater({ sql: '', text: tableLock, values: [] })
    return {}
  }

  /** Returns a handle of the same transaction for one of several writes that commit together. */
  member(transaction: Transaction): Tx {
    return new GroupedTx(this.#queue, transaction, this.#referenceTables, this.#sums)
  }

  async #perform(statement: Statement, shape: ResultShape = {}): Promise<pg.QueryResult> {
    this.#transaction.requireUsable()
    this.#transaction.openStatements++
    try {
      checkValues(statement.values)
      this.#noteWrite(statement)
      return await this.#queue.addStatement(statement, shape, true)
    } catch (error) {
      return this.#fail(error)
    } finally {
      this.#transaction.openStatements--
    }
  }

  #noteWrite(statement: Statement): void {
    if (mayChange(statement)) this.#transaction.writes++
  }

  /** Leaves retryable errors untranslated for `write`. */
  #fail(error: unknown): never {
    this.#transaction.addViolation(violationOf(error))
    throw this.#transaction.fail(isRetryable(error) ? error : translatePostgresError(error))
  }
}

/**
 * The handle of one of several writes that commit together. Their statements interleave, so a lock
 * of one excludes no other one, and a savepoint would contain the statements of others.
 */
class GroupedTx extends PostgresTx {
  override lock(): Promise<never> {
    return refuseInGroup()
  }

  override attempt(): Promise<never> {
    return refuseInGroup()
  }

  override ddl(): Promise<never> {
    return refuseInGroup()
  }
}

async function refuseInGroup(): Promise<never> {
  throw new Error('a write that locks a row or sets a savepoint runs alone')
}

/** The interface of a transaction that also runs DDL. */
export type PostgresDdl = Tx & Pick<PostgresTx, 'ddl' | 'member'>
