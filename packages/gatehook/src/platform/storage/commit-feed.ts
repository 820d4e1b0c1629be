/**
 * Reads an append-only table in an order in which no row appears behind a reader's cursor. In a
 * file that is the order of positions, which is the order of commits. On PostgreSQL it is the order
 * of transactions, up to the oldest one of this database that is still open.
 */
import type { Clock } from '../../kernel/clock.ts'
import { lowestIdAt, timeOfId } from '../../kernel/id.ts'
import type { Database, Statement, Value } from './database.ts'
import { prepareStatement } from './sql.ts'

/** The last row that a reader has passed. */
export interface FeedCursor {
  readonly txid: number
  readonly position: number
  /**
   * No later row has a lower id unless a clock is set back, so that PostgreSQL reads the newest
   * partitions only.
   */
  readonly lowestId?: string
}

interface FeedTable {
  /** It has the columns `scope`, `txid`, `position` and `id`. */
  readonly table: string
  /** The prefix of the ids, which contain the time. */
  readonly prefix: string
  /** SQL of the columns after `id`. */
  readonly columns: string
  /** SQL after FROM: one row, which the server of a scope reads if tables are distributed. */
  readonly serverOfScope: string
}

type FeedRow = readonly [txid: number, position: number, id: string, ...cells: Value[]]

interface FeedPage {
  readonly rows: readonly FeedRow[]
  /** The cursor after all rows. */
  readonly end: FeedCursor
  /** Whether the table may have further rows now. */
  readonly hasMore: boolean
  /** Whether a transaction holds rows back that the next read may pass. */
  readonly isUndecided?: boolean
  /** Rows of all scopes that the thread of all requests has passed. */
  readonly passed: number
}

interface CommitFeed {
  /** Returns the cursor after every row of the scope that exists now. */
  end(scope: number): Promise<FeedCursor>
  readPage(scope: number, after: FeedCursor): Promise<FeedPage>
}

/** Rows of a page. */
export const PAGE_ROWS = 100
/** Positions, of all scopes, that one read of a file passes. */
const POSITIONS_PER_READ = 5_000
/**
 * The id of a later row can be lower by this much: its transaction took longer, and the clock of
 * its node was behind.
 */
const DISORDER_MS = 3_600_000

const lowestIdAfter = (ms: number, { prefix }: FeedTable): string =>
  lowestIdAt(prefix, Math.max(0, ms - DISORDER_MS))

/** Returns the cursor after a row. */
export const cursorAt = ([txid, position, id]: FeedRow, source: FeedTable): FeedCursor => ({
  txid,
  position,
  lowestId: lowestIdAfter(timeOfId(id) ?? 0, source),
})

export const createCommitFeed = (
  db: Database,
  clock: Pick<Clock, 'now'>,
  source: FeedTable,
): CommitFeed =>
  db.dialect.shared ? transactionOrder(db, clock, source) : positionOrder(db, source)

/**
 * Reads up to the oldest open transaction of the server. If the same one holds rows back at two
 * reads, it may be long, and in another database, which has no rows of this one: then the oldest
 * transaction of this database is the end, at the cost of further statements.
 */
function transactionOrder(db: Database, clock: Pick<Clock, 'now'>, source: FeedTable): CommitFeed {
  const { table, columns, serverOfScope } = source
  const { horizon, ownHorizon, distributed } = db.dialect
  // The last column is the transaction that holds the row back; 0: none.
  const page = prepareStatement(
    `SELECT txid, position, id, ${columns}, CASE WHEN txid < ${horizon} THEN 0 ELSE ${horizon} END
     FROM ${table} WHERE scope = ? AND (txid, position) > (?, ?) AND id >= ?
     ORDER BY txid, position LIMIT ${PAGE_ROWS}`,
  )
  const pageUntil = prepareStatement(
    `SELECT txid, position, id, ${columns} FROM ${table}
     WHERE scope = ? AND (txid, position) > (?, ?) AND id >= ? AND txid < ?
     ORDER BY txid, position LIMIT ${PAGE_ROWS}`,
  )
  // The condition on the scope decides which server reads its transactions, if there are several.
  const oldestOpenTransaction = prepareStatement(
    `SELECT ${ownHorizon} AS txid${distributed ? ` FROM ${serverOfScope}` : ''}`,
  )
  const readOwnHorizon = async (scope: number) =>
    Number((await db.get(oldestOpenTransaction([scope])))!.txid)
  /** The transaction that held rows back at the last read that found one. */
  let lastBlocker = 0
  const pageOf = (rows: readonly FeedRow[], cursor: FeedCursor): FeedPage => {
    const last = rows.at(-1)
    return {
      rows,
      end: last ? cursorAt(last, source) : cursor,
      hasMore: rows.length === PAGE_ROWS,
      passed: 0, // by the server
    }
  }
  return {
    async end(scope) {
      const lowestId = lowestIdAfter(clock.now(), source)
      const txid = (await readOwnHorizon(scope)) - 1
      return { txid, position: Number.MAX_SAFE_INTEGER, lowestId }
    },
    async readPage(scope, cursor) {
      const { txid, position, lowestId = '' } = cursor
      // The id of the cursor may be of a clock that was set back since then.
      const lowest = lowestIdAfter(clock.now(), source)
      const after = [scope, txid, position, lowestId < lowest ? lowestId : lowest]
      const rows = await readRows(db, page(after))
      const firstBlocked = rows.findIndex((row) => row.at(-1) !== 0)
      if (firstBlocked === -1) return pageOf(rows, cursor)
      const blocker = Number(rows[firstBlocked]!.at(-1))
      const isSame = blocker === lastBlocker
      lastBlocker = blocker
      if (!isSame || firstBlocked > 0) {
        return { ...pageOf(rows.slice(0, firstBlocked), cursor), isUndecided: true }
      }
      const until = await readOwnHorizon(scope)
      return pageOf(await readRows(db, pageUntil([...after, until])), cursor)
    },
  }
}

/** Reads in the order of the primary key: an index by scope would slow every write. */
function positionOrder(db: Database, source: FeedTable): CommitFeed {
  const { table, columns } = source
  const newest = prepareStatement(`SELECT coalesce(max(position), 0) AS position FROM ${table}`)
  const page = prepareStatement(
    `SELECT txid, position, id, ${columns} FROM ${table} NOT INDEXED
     WHERE scope = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${PAGE_ROWS}`,
  )
  const newestPosition = async () => (await db.get(newest([])))!.position as number
  return {
    end: async () => ({ txid: 0, position: await newestPosition() }),
    async readPage(scope, cursor) {
      const last = await newestPosition()
      const until = Math.min(last, cursor.position + POSITIONS_PER_READ)
      if (until <= cursor.position) return { rows: [], end: cursor, hasMore: false, passed: 0 }
      const rows = await readRows(db, page([scope, cursor.position, until]))
      const isFull = rows.length === PAGE_ROWS
      const end = isFull
        ? { ...cursorAt(rows.at(-1)!, source), txid: 0 }
        : { txid: 0, position: until }
      const passed = end.position - cursor.position
      return { rows, end, hasMore: isFull || until < last, passed }
    },
  }
}

const readRows = async (db: Database, statement: Statement) =>
  (await db.arrays(statement)) as unknown as FeedRow[]
