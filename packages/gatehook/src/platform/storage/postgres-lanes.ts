/** Pipelined connections for reads outside transactions. Opens them when they are needed. */
import type pg from 'pg'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { type Clock, wallClock } from '../../kernel/clock.ts'
import { LOCK_MS } from './lock-wait.ts'
import { isConnectionLost, isLockTimeout } from './postgres-errors.ts'
import { storageUnavailable } from './transaction.ts'

/** The time in which no lane opens, after the server had no connection left. */
const PAUSE_MS = 2_000
/** Reads of tables that waited for a lock in vain share a lane for this time after the last one. */
const BLOCKED_MS = 2 * LOCK_MS
const BLOCKED_MAX = 100

const TABLE = /\b(?:FROM|JOIN)\s+([\w".]+)/gi

/** Returns the tables of a statement: its filters and its order wait for the same locks. */
const tablesOf = (text: string): string =>
  [...new Set(Array.from(text.matchAll(TABLE), ([, table]) => table))].join(' ')

interface ReadLane {
  /** `onBlocked` is called if the statement of `body` has waited for a lock in vain. */
  use<T>(body: (client: pg.Client) => Promise<T>, onBlocked: () => void): Promise<T>
  /** The next use gets a new connection. */
  drop(): void
}

/**
 * Creates pipelined connections; each statement uses the one with the fewest pending. While another
 * program holds a lock, the reads of the same tables use the first one, and all others the rest.
 */
export function createReadLanes(
  open: () => Promise<pg.Client>,
  count: number,
  clock: Pick<Clock, 'elapsedMs'> = wallClock,
) {
  let isClosed = false
  const openUnlessClosed = async () => {
    // A read in flight would repeat itself on a connection that stays open.
    if (isClosed) throw storageUnavailable('the database is closed')
    return open()
  }
  const lanes = Array.from({ length: count }, () => createLane(openUnlessClosed))
  /** The tables of these reads, with the end of the time. */
  const blocked = new BoundedMap<string, number>(BLOCKED_MAX)
  const lanesFor = (text: string) => {
    for (const [tables, untilMs] of blocked) {
      if (untilMs <= clock.elapsedMs()) blocked.delete(tables)
    }
    if (blocked.size === 0 || count === 1) return lanes
    return blocked.has(tablesOf(text)) ? lanes.slice(0, 1) : lanes.slice(1)
  }
  let growsFromMs = Number.NEGATIVE_INFINITY
  const openLanes = () => lanes.filter(({ isOpen }) => isOpen())
  return {
    choose(text: string): ReadLane {
      const open = clock.elapsedMs() < growsFromMs ? openLanes() : []
      return (open.length > 0 ? open : lanesFor(text)).reduce((best, other) =>
        other.pendingCount() < best.pendingCount() ? other : best,
      )
    },
    noteBlocked(text: string) {
      blocked.set(tablesOf(text), clock.elapsedMs() + BLOCKED_MS)
    },
    /** For a moment uses open lanes only. Returns whether there is one. */
    pauseGrowth(): boolean {
      growsFromMs = clock.elapsedMs() + PAUSE_MS
      return openLanes().length > 0
    },
    /** All lanes connect again. */
    drop() {
      for (const lane of lanes) lane.drop()
    },
    async close() {
      isClosed = true
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}

interface LaneConnection {
  readonly client: Promise<pg.Client>
  /** The error of a statement that waited for a lock in vain, and delayed those behind it. */
  blockedBy?: unknown
}

function createLane(open: () => Promise<pg.Client>) {
  let pendingCount = 0
  let current: LaneConnection | undefined
  let isOpen = false
  const leave = (connection: LaneConnection) => {
    if (current !== connection) return
    current = undefined
    isOpen = false
  }
  const connect = (): LaneConnection => {
    const clear = () => leave(connection)
    const client = open().then((opened) => {
      opened.on('end', clear)
      isOpen = current === connection
      return opened
    })
    client.catch(clear)
    const connection: LaneConnection = { client }
    return connection
  }
  const end = ({ client }: LaneConnection) =>
    client.then((opened) => opened.end()).catch(() => undefined)
  const drop = () => {
    if (!current) return
    void end(current)
    leave(current)
  }
  /** The statements behind one that was blocked fail at once: they may wait as long each. */
  const cut = (connection: LaneConnection, client: pg.Client, error: unknown) => {
    if (connection.blockedBy) return
    connection.blockedBy = error
    leave(connection)
    void client.end().catch(() => undefined)
    client.connection.stream.destroy()
  }
  return {
    isOpen: () => isOpen,
    pendingCount: () => pendingCount,
    async use<T>(body: (client: pg.Client) => Promise<T>, onBlocked: () => void): Promise<T> {
      pendingCount++
      const connection = (current ??= connect())
      let client: pg.Client | undefined
      try {
        client = await connection.client
        batchWrites(client)
        return await body(client)
      } catch (error) {
        if (client && isLockTimeout(error)) {
          onBlocked()
          cut(connection, client, error)
        }
        if (isConnectionLost(error)) leave(connection)
        throw connection.blockedBy ?? error
      } finally {
        pendingCount--
      }
    },
    drop,
    async close() {
      if (current) await end(current)
    },
  }
}

/** Sends all statements of one event-loop iteration in one write to the socket. */
function batchWrites({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
