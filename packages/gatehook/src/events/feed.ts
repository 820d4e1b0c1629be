/**
 * Events in an order in which nothing arrives behind a reader's back: what `stream.ts` follows. On
 * one node positions are given in the order of commits; on many they are not, and the order is that
 * of transactions, as far as none older is still open.
 */
import type { Scope } from '../kernel/principal.ts'
import type { Database, Statement, Value } from '../storage/database.ts'
import { fixed, type Prepared } from '../storage/sql.ts'
import { EVENT_COLUMNS } from './view.ts'

/** After which event a reader stands. */
export interface Place {
  readonly txid: number
  readonly position: number
}

export interface Batch {
  /** Rows of `EVENT_COLUMNS`. */
  readonly rows: readonly (readonly Value[])[]
  readonly place: Place
  /** Whether there may be more at this moment. */
  readonly more: boolean
}

export interface Feed {
  /** Where only what happens from now on is ahead. */
  end(): Promise<Place>
  /** The place of an event; of the one before it where it is gone; undefined: it is no event. */
  placeOf(scope: Scope, id: string): Promise<Place | undefined>
  /** The next events of these types; objects of others are not read. */
  after(scope: Scope, place: Place, isWanted?: (type: string) => boolean): Promise<Batch>
}

const BATCH = 100
/** Bytes of the objects of one batch, unless a single one has more. */
export const BATCH_BYTES = 524_288
/** How many positions, of all scopes, one reading passes at most on a single node. */
const REACH = 5_000
const EVENT_ID = /^evt_[0-9A-Za-z]{22}$/

const rowOf = fixed('SELECT txid, position FROM gh_events WHERE scope = ? AND id = ?')
const earlier = fixed(
  'SELECT txid, position FROM gh_events WHERE scope = ? AND id < ? ORDER BY id DESC LIMIT 1',
)

export function createFeed(db: Database): Feed {
  const { heads, end } = db.dialect.shared ? byTransaction(db) : byPosition(db)
  return {
    end,
    async after(scope, place, isWanted = () => true) {
      const page = await heads(scope, place)
      const { ids, last } = prefixOf(page.found, isWanted)
      const rows = await rowsOf(db, scope, ids)
      if (!last) return { rows, place: page.end, more: page.more }
      return { rows, place: { txid: last[TXID], position: last[POSITION] }, more: true }
    },
    async placeOf(scope, id) {
      if (!EVENT_ID.test(id)) return undefined
      const row = (await db.get(rowOf([scope, id]))) ?? (await db.get(earlier([scope, id])))
      return row ? { txid: row.txid, position: row.position } : { txid: 0, position: 0 }
    },
  }
}

/** What a batch is chosen by; the object's length is stored beside it, so no object is read. */
const HEAD = 'txid, position, id, type, octet_length(object)'
type Head = readonly [txid: number, position: number, id: string, type: string, bytes: number]
const TXID = 0
const POSITION = 1

interface Heads {
  readonly found: readonly Head[]
  /** The place behind all of them. */
  readonly end: Place
  readonly more: boolean
}

interface Order {
  end(): Promise<Place>
  heads(scope: Scope, place: Place): Promise<Heads>
}

/** The wanted events that fit into a batch; `last`: the last one passed, where not all do. */
function prefixOf(heads: readonly Head[], isWanted: (type: string) => boolean) {
  const ids: string[] = []
  let sum = 0
  for (const [at, [, , id, type, bytes]] of heads.entries()) {
    if (!isWanted(type)) continue
    sum += bytes
    if (sum > BATCH_BYTES && ids.length > 0) return { ids, last: heads[at - 1] }
    ids.push(id)
  }
  return { ids, last: undefined }
}

/** Sizes of `IN` lists: few texts serve every batch. */
const ID_LISTS: readonly (readonly [size: number, read: Prepared])[] = [1, 8, 32, BATCH].map(
  (size) => {
    const marks = Array(size).fill('?').join(', ')
    const text = `SELECT ${EVENT_COLUMNS} FROM gh_events WHERE scope = ? AND id IN (${marks})`
    return [size, fixed(text)]
  },
)

/** The rows of these ids, in their order; one that was purged meanwhile is left out. */
async function rowsOf(db: Database, scope: Scope, ids: readonly string[]): Promise<Value[][]> {
  if (ids.length === 0) return []
  const [size, read] = ID_LISTS.find(([one]) => one >= ids.length)!
  const padded = [...ids, ...Array<string>(size - ids.length).fill(ids.at(-1)!)]
  const rows = await db.arrays(read([scope, ...padded]))
  const byId = new Map(rows.map((row) => [row[0], row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    return row ? [row] : []
  })
}

function byTransaction(db: Database): Order {
  const { horizon } = db.dialect
  const read = fixed(
    `SELECT ${HEAD} FROM gh_events
     WHERE scope = ? AND (txid, position) > (?, ?) AND txid < ${horizon}
     ORDER BY txid, position LIMIT ${BATCH}`,
  )
  const oldestOpen = fixed(`SELECT ${horizon} AS txid`)
  return {
    async end() {
      const row = (await db.get(oldestOpen([])))!
      return { txid: Number(row.txid) - 1, position: Number.MAX_SAFE_INTEGER }
    },
    async heads(scope, place) {
      const found = await headsOf(db, read([scope, place.txid, place.position]))
      const last = found.at(-1)
      const end = last ? { txid: last[TXID], position: last[POSITION] } : place
      return { found, end, more: found.length === BATCH }
    },
  }
}

/** Along the key of the table: an index by scope for this alone would cost every write. */
function byPosition(db: Database): Order {
  const newest = fixed('SELECT coalesce(max(position), 0) AS position FROM gh_events')
  const read = fixed(
    `SELECT ${HEAD} FROM gh_events NOT INDEXED
     WHERE scope = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${BATCH}`,
  )
  const last = async () => (await db.get(newest([])))!.position as number
  return {
    end: async () => ({ txid: 0, position: await last() }),
    async heads(scope, place) {
      const most = await last()
      const upTo = Math.min(most, place.position + REACH)
      if (upTo <= place.position) return { found: [], end: place, more: false }
      const found = await headsOf(db, read([scope, place.position, upTo]))
      const full = found.length === BATCH
      const position = full ? found.at(-1)![POSITION] : upTo
      return { found, end: { txid: 0, position }, more: full || upTo < most }
    },
  }
}

const headsOf = async (db: Database, statement: Statement) =>
  (await db.arrays(statement)) as unknown as Head[]
