/**
 * The feed of events that streams follow, in the order of commits
 * (`platform/storage/commit-feed.ts`), in batches of bounded bytes that streams share.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import {
  createCommitFeed,
  cursorAt,
  type FeedCursor,
  PAGE_ROWS,
} from '../../platform/storage/commit-feed.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import { type PreparedStatement, prepareStatement } from '../../platform/storage/sql.ts'
import { SERVER_OF_SCOPE } from '../../protocol/lists/counters.ts'
import { prepareEvent, prepareEvents } from './by-id.ts'
import { sharePages } from './shared-pages.ts'
import { EVENT_COLUMNS } from './view.ts'

interface FeedBatch {
  /** Rows of `EVENT_COLUMNS`. */
  readonly rows: readonly (readonly Value[])[]
  readonly cursor: FeedCursor
  /** Whether the feed may have further events now. */
  readonly hasMore: boolean
  /** Whether events wait for a transaction that the next read may pass. */
  readonly isUndecided?: boolean | undefined
  /** Events of all customers that the read has passed on the thread of all requests. */
  readonly passed: number
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

/** Bytes of the objects in one batch; a single larger object is a batch of its own. */
export const BATCH_BYTES = 524_288
const EVENT_ID = /^evt_[0-9A-Za-z]{22}$/

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
  const { readPage, end } = createCommitFeed(db, clock, FEED)
  const readShared = sharePages(async (scope, cursor) => {
    const page = await readPage(scope, cursor)
    return { ...page, readEvents: sharedEvents(db, scope) }
  })
  return {
    end,
    async after(scope, cursor, includes = () => true) {
      const page = await readShared(scope, cursor)
      const { passed, isUndecided } = page
      const { ids, lastPassed } = selectBatch(page.rows as unknown as BatchRow[], includes)
      const rows = await page.readEvents(ids)
      if (!lastPassed) {
        return { rows, cursor: page.end, hasMore: page.hasMore, isUndecided, passed }
      }
      return { rows, cursor: cursorAt(lastPassed, FEED), hasMore: true, passed }
    },
    async cursorOf(scope, id) {
      if (!EVENT_ID.test(id)) return undefined
      const row = (await db.get(byId([scope, id]))) ?? (await db.get(beforeId([scope, id])))
      const cells = row && ([row.txid, row.position, row.id] as const)
      return cells ? cursorAt(cells, FEED) : { txid: 0, position: 0 }
    },
  }
}

/** The columns decide on a batch. The database stores an object's length beside the object. */
const FEED = {
  table: 'gh_events',
  prefix: 'evt_',
  columns: 'type, octet_length(object)',
  serverOfScope: SERVER_OF_SCOPE,
}
type BatchRow = readonly [txid: number, position: number, id: string, type: string, bytes: number]

/** Selects the events that fit into a batch. `lastPassed`: the last row, unless all rows fit. */
function selectBatch(rows: readonly BatchRow[], includes: (type: string) => boolean) {
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
  PAGE_ROWS,
].map((size) => [size, prepareEvents(EVENT_COLUMNS, size)])

/**
 * Returns a function that reads events of a page in the order of their ids, each once for all
 * streams, which get the same rows. It omits an event that was purged meanwhile.
 */
function sharedEvents(db: Database, scope: Scope) {
  const reads = new Map<string, Promise<ReadonlyMap<string, Value[]>>>()
  return async (ids: readonly string[]): Promise<Value[][]> => {
    const unread = ids.filter((id) => !reads.has(id))
    if (unread.length > 0) {
      const rows = readEvents(db, scope, unread)
      for (const id of unread) reads.set(id, rows)
    }
    const events: Value[][] = []
    for (const id of ids) {
      const row = (await reads.get(id)!).get(id)
      if (row) events.push(row)
    }
    return events
  }
}

/** Reads the events with these ids. */
async function readEvents(
  db: Database,
  scope: Scope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Value[]>> {
  const [size, read] = ID_LISTS.find(([length]) => length >= ids.length)!
  const padded = [...ids, ...Array<string>(size - ids.length).fill('')]
  const rows = await db.arrays(read([...padded, scope]))
  return new Map(rows.map((row) => [String(row[0]), row]))
}
