/**
 * Events in an order in which nothing arrives behind a reader's back: what `stream.ts` follows. On
 * one node positions are given in the order of commits; on many they are not, and the order is that
 * of transactions, as far as none older is still open.
 */
import type { Scope } from '../kernel/principal.ts'
import type { Database, Value } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
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
  after(scope: Scope, place: Place): Promise<Batch>
}

const BATCH = 100
/** How many positions, of all scopes, one reading passes at most on a single node. */
const REACH = 20_000
const EVENT_ID = /^evt_[0-9A-Za-z]{22}$/

const rowOf = fixed('SELECT txid, position FROM gh_events WHERE scope = ? AND id = ?')
const earlier = fixed(
  'SELECT txid, position FROM gh_events WHERE scope = ? AND id < ? ORDER BY id DESC LIMIT 1',
)

export function createFeed(db: Database): Feed {
  const { after, end } = db.dialect.shared ? byTransaction(db) : byPosition(db)
  return {
    after,
    end,
    async placeOf(scope, id) {
      if (!EVENT_ID.test(id)) return undefined
      const row = (await db.get(rowOf([scope, id]))) ?? (await db.get(earlier([scope, id])))
      return row ? { txid: row.txid, position: row.position } : { txid: 0, position: 0 }
    },
  }
}

type Order = Pick<Feed, 'after' | 'end'>

const cut = (found: readonly (readonly Value[])[]) => found.map((row) => row.slice(2))

function byTransaction(db: Database): Order {
  const { horizon } = db.dialect
  const read = fixed(
    `SELECT txid, position, ${EVENT_COLUMNS} FROM gh_events
     WHERE scope = ? AND (txid, position) > (?, ?) AND txid < ${horizon}
     ORDER BY txid, position LIMIT ${BATCH}`,
  )
  const oldestOpen = fixed(`SELECT ${horizon} AS txid`)
  return {
    async end() {
      const row = (await db.get(oldestOpen([])))!
      return { txid: Number(row.txid) - 1, position: Number.MAX_SAFE_INTEGER }
    },
    async after(scope, place) {
      const found = await db.arrays(read([scope, place.txid, place.position]))
      const [txid, position] = (found.at(-1) ?? []) as [number, number]
      const next = found.length > 0 ? { txid, position } : place
      return { rows: cut(found), place: next, more: found.length === BATCH }
    },
  }
}

/** Along the key of the table: an index by scope for this alone would cost every write. */
function byPosition(db: Database): Order {
  const newest = fixed('SELECT coalesce(max(position), 0) AS position FROM gh_events')
  const read = fixed(
    `SELECT txid, position, ${EVENT_COLUMNS} FROM gh_events NOT INDEXED
     WHERE scope = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${BATCH}`,
  )
  const last = async () => (await db.get(newest([])))!.position as number
  return {
    end: async () => ({ txid: 0, position: await last() }),
    async after(scope, place) {
      const most = await last()
      const upTo = Math.min(most, place.position + REACH)
      if (upTo <= place.position) return { rows: [], place, more: false }
      const found = await db.arrays(read([scope, place.position, upTo]))
      const full = found.length === BATCH
      const position = full ? (found.at(-1)![1] as number) : upTo
      return { rows: cut(found), place: { txid: 0, position }, more: full || upTo < most }
    },
  }
}
