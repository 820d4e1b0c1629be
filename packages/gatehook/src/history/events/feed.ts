/**
 * The feed of events that streams follow, in an order in which no event appears behind a reader's
 * cursor. On one node that is the order of positions, which is the order of commits. On several
 * nodes it is the order of transactions, up to the oldest one of this database that is still open.
 */
import type { Clock } from '../../kernel/clock.ts'
import { lowestIdAt, timeOfId } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Statement, Value } from '../../platform/storage/database.ts'
import { type PreparedStatement, prepareStatement } from '../../platform/storage/sql.ts'
import { SERVER_OF_SCOPE } from '../../protocol/lists/counters.ts'
import { prepareEvent, prepareEvents } from './by-id.ts'
import { sharePages } from './shared-pages.ts'
import { EVENT_COLUMNS } from './view.ts'

/** The last event that a reader has passed. */
export interface FeedCursor {
  readonly txid: number
  readonly position: number
  /**
   * No later event has a lower id unless a clock is set back, so that PostgreSQL reads the newest
   * partitions only.
   */
  readonly lowestId?: string
}

interface FeedBatch {
  /** Rows of `EVENT_COLUMNS`. */
  readonly rows: readonly (readonly Value[])[]
  readonly cursor: FeedCursor
  /** Whether the feed may have further events now. */
  readonly hasMore: boolean
}

export interface Feed {
  /** Returns the cursor after every event of the scope that exists now. */
  end(scope: Scope): Promise<FeedCursor>
  /**
   * Returns the cursor after an event; for a purged event, after the one before it. Undefined
   * when the text is not an event id.
   */
  cursorOf(scope: Scope, id: string): Promise<FeedCursor | undefined>
  /** Reads the next events whose type `includes` accepts; never the objects of others. */
  after(scope: Scope, cursor: FeedCursor, includes?: (type: string) => boolean): Promise<FeedBatch>
}

const BATCH = 100
/** Bytes of the objects in one batch; a single larger object is a batch of its own. */
export const BATCH_BYTES = 524_288
/** Positions, of all scopes, that one read passes on a single node. */
const POSITIONS_PER_READ = 5_000
const EVENT_ID = /^evt_[0-9A-Za-z]{22}$/

/**
 * The id of a later event can be lower by this much: its transaction took longer, and the clock of
 * its node was behind.
 */
const DISORDER_MS = 3_600_000
const lowestIdAfter = (ms: number): string => lowestIdAt('evt_', Math.max(0, ms - DISORDER_MS))
/**
 * Any later event may have a lower id: where a test clock jumps, nodes follow it at different
 * times, and where SQL emits events (§17.2), their transactions commit however late.
 */
export const unorderedClock: Pick<Clock, 'now'> = { now: () => 0 }

const byId = prepareEvent('txid, position, id')
const beforeId = prepareStatement(
  'SELECT txid, position, id FROM gh_events WHERE scope = ? AND id < ? ORDER BY id DESC LIMIT 1',
)

export function createFeed(db: Database, clock: Pick<Clock, 'now'>): Feed {
  const { readPage, end } = db.dialect.shared ? transactionOrder(db, clock) : positionOrder(db)
  const readShared = sharePages(async (scope, cursor) => {
    const page = await readPage(scope, cursor)
    return { ...page, readEvents: sharedEvents(db, scope) }
  })
  return {
    end,
    async after(scope, cursor, includes = () => true) {
      const page = await readShared(scope, cursor)
      const { ids, lastPassed } = selectBatch(page.rows, includes)
      const rows = await page.readEvents(ids)
      if (!lastPassed) return { rows, cursor: page.end, hasMore: page.hasMore }
      return { rows, cursor: cursorAt(lastPassed), hasMore: true }
    },
    async cursorOf(scope, id) {
      if (!EVENT_ID.test(id)) return undefined
      const row = (await db.get(byId([scope, id]))) ?? (await db.get(beforeId([scope, id])))
      return row ? cursorAt([row.txid, row.position, row.id]) : { txid: 0, position: 0 }
    },
  }
}

/** Columns that decide on a batch. The database stores an object's length beside the object. */
const FEED_COLUMNS = 'txid, position, id, type, octet_length(object)'
type FeedRow = readonly [
  txid: number,
  position: number,
  id: string,
  type: string,
  bytes: number,
  /** The transaction that holds the event back; 0: none. */
  blocker?: number,
]

const cursorAt = ([txid, position, id]: readonly [number, number, string, ...unknown[]]) => {
  const lowestId = lowestIdAfter(timeOfId(id) ?? 0)
  return { txid, position, lowestId } satisfies FeedCursor
}

interface FeedPage {
  readonly rows: readonly FeedRow[]
  /** The cursor after all rows. */
  readonly end: FeedCursor
  readonly hasMore: boolean
}

interface FeedOrder {
  end(scope: Scope): Promise<FeedCursor>
  readPage(scope: Scope, cursor: FeedCursor): Promise<FeedPage>
}

/** Selects the events that fit into a batch. `lastPassed`: the last row, unless all rows fit. */
function selectBatch(rows: readonly FeedRow[], includes: (type: string) => boolean) {
  const ids: string[] = []
  let sum = 0
  for (const [index, [, , id, type, bytes]] of rows.entries()) {
    if (!includes(type)) continue
    sum += bytes
    if (sum > BATCH_BYTES && ids.length > 0) return { ids, lastPassed: rows[index - 1] }
    ids.push(id)
  }
  return { ids, lastPassed: undefined }
}

/** Statements by the number of their ids: few texts serve every batch. */
const ID_LISTS: readonly (readonly [size: number, read: PreparedStatement])[] = [
  1,
  8,
  32,
  BATCH,
].map((size) => [size, prepareEvents(EVENT_COLUMNS, size)])

/** Returns a function that reads events of a page, once for all streams that select the same. */
function sharedEvents(db: Database, scope: Scope) {
  const reads = new Map<string, Promise<Value[][]>>()
  return (ids: readonly string[]): Promise<Value[][]> => {
    const key = ids.join()
    let rows = reads.get(key)
    if (!rows) reads.set(key, (rows = readEvents(db, scope, ids)))
    return rows
  }
}

/** Reads the events with these ids, in their order; omits one that was purged meanwhile. */
async function readEvents(db: Database, scope: Scope, ids: readonly string[]): Promise<Value[][]> {
  if (ids.length === 0) return []
  const [size, read] = ID_LISTS.find(([length]) => length >= ids.length)!
  const padded = [...ids, ...Array<string>(size - ids.length).fill('')]
  const rows = await db.arrays(read([...padded, scope]))
  const rowsById = new Map(rows.map((row) => [row[0], row]))
  return ids.flatMap((id) => {
    const row = rowsById.get(id)
    return row ? [row] : []
  })
}

/**
 * Reads up to the oldest open transaction of the server. If the same one holds events back at two
 * reads, it may be long, and in another database, which has no events of this one: then the oldest
 * transaction of this database is the end, at the cost of further statements.
 */
function transactionOrder(db: Database, clock: Pick<Clock, 'now'>): FeedOrder {
  const { horizon, ownHorizon } = db.dialect
  const page = prepareStatement(
    `SELECT ${FEED_COLUMNS}, CASE WHEN txid < ${horizon} THEN 0 ELSE ${horizon} END
     FROM gh_events WHERE scope = ? AND (txid, position) > (?, ?) AND id >= ?
     ORDER BY txid, position LIMIT ${BATCH}`,
  )
  const pageUntil = prepareStatement(
    `SELECT ${FEED_COLUMNS} FROM gh_events
     WHERE scope = ? AND (txid, position) > (?, ?) AND id >= ? AND txid < ?
     ORDER BY txid, position LIMIT ${BATCH}`,
  )
  // The condition on the scope decides which server reads its transactions, if there are several.
  const oldestOpenTransaction = prepareStatement(
    `SELECT ${ownHorizon} AS txid FROM ${SERVER_OF_SCOPE}`,
  )
  const readOwnHorizon = async (scope: Scope) =>
    Number((await db.get(oldestOpenTransaction([scope])))!.txid)
  /** The transaction that held events back at the last read that found one. */
  let lastBlocker = 0
  const pageOf = (rows: readonly FeedRow[], cursor: FeedCursor): FeedPage => {
    const last = rows.at(-1)
    return { rows, end: last ? cursorAt(last) : cursor, hasMore: rows.length === BATCH }
  }
  return {
    async end(scope) {
      const lowestId = lowestIdAfter(clock.now())
      return {
        txid: (await readOwnHorizon(scope)) - 1,
        position: Number.MAX_SAFE_INTEGER,
        lowestId,
      }
    },
    async readPage(scope, cursor) {
      const { txid, position, lowestId = '' } = cursor
      // The id of the cursor may be of a clock that was set back since then.
      const lowestNow = lowestIdAfter(clock.now())
      const after = [scope, txid, position, lowestId < lowestNow ? lowestId : lowestNow]
      const rows = await readRows(db, page(after))
      const isBlocked = ([, , , , , blocker]: FeedRow) => blocker !== 0
      const firstBlocked = rows.findIndex(isBlocked)
      if (firstBlocked === -1) return pageOf(rows, cursor)
      const [, , , , , blocker = 0] = rows[firstBlocked]!
      const isSame = blocker === lastBlocker
      lastBlocker = blocker
      if (!isSame || firstBlocked > 0) return pageOf(rows.slice(0, firstBlocked), cursor)
      const until = await readOwnHorizon(scope)
      return pageOf(await readRows(db, pageUntil([...after, until])), cursor)
    },
  }
}

/** Reads in the order of the primary key: an index by scope would slow every write. */
function positionOrder(db: Database): FeedOrder {
  const newest = prepareStatement('SELECT coalesce(max(position), 0) AS position FROM gh_events')
  const page = prepareStatement(
    `SELECT ${FEED_COLUMNS} FROM gh_events NOT INDEXED
     WHERE scope = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${BATCH}`,
  )
  const newestPosition = async () => (await db.get(newest([])))!.position as number
  return {
    end: async () => ({ txid: 0, position: await newestPosition() }),
    async readPage(scope, cursor) {
      const last = await newestPosition()
      const until = Math.min(last, cursor.position + POSITIONS_PER_READ)
      if (until <= cursor.position) return { rows: [], end: cursor, hasMore: false }
      const rows = await readRows(db, page([scope, cursor.position, until]))
      if (rows.length === BATCH)
        return { rows, end: { ...cursorAt(rows.at(-1)!), txid: 0 }, hasMore: true }
      return { rows, end: { txid: 0, position: until }, hasMore: until < last }
    },
  }
}

const readRows = async (db: Database, statement: Statement) =>
  (await db.arrays(statement)) as unknown as FeedRow[]
