/** Pipelined connections for reads outside transactions. Opens them when they are needed. */
import type pg from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import { isConnectionLost } from './postgres-errors.ts'

/** The time in which no lane opens, after the server had no connection left. */
const PAUSE_MS = 2_000

interface ReadLane {
  use<T>(body: (client: pg.Client) => Promise<T>): Promise<T>
  /** The next use gets a new connection. */
  drop(): void
}

/** Creates pipelined connections; each statement uses the one with the fewest pending. */
export function createReadLanes(open: () => Promise<pg.Client>, count: number) {
  const lanes = Array.from({ length: count }, () => createLane(open))
  let growsFromMs = Number.NEGATIVE_INFINITY
  const openLanes = () => lanes.filter(({ isOpen }) => isOpen())
  return {
    choose(): ReadLane {
      const open = wallClock.elapsedMs() < growsFromMs ? openLanes() : []
      return (open.length > 0 ? open : lanes).reduce((best, other) =>
        other.pendingCount() < best.pendingCount() ? other : best,
      )
    },
    /** For a moment uses open lanes only. Returns whether there is one. */
    pauseGrowth(): boolean {
      growsFromMs = wallClock.elapsedMs() + PAUSE_MS
      return openLanes().length > 0
    },
    /** All lanes connect again. */
    drop() {
      for (const lane of lanes) lane.drop()
    },
    async close() {
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}

function createLane(open: () => Promise<pg.Client>) {
  let pendingCount = 0
  let current: Promise<pg.Client> | undefined
  let isOpen = false
  const connect = (): Promise<pg.Client> => {
    const clear = () => {
      if (current !== connected) return
      current = undefined
      isOpen = false
    }
    const connected = open().then((client) => {
      client.on('end', clear)
      isOpen = current === connected
      return client
    })
    connected.catch(clear)
    return connected
  }
  const drop = () => {
    void current?.then((client) => client.end()).catch(() => undefined)
    current = undefined
    isOpen = false
  }
  return {
    isOpen: () => isOpen,
    pendingCount: () => pendingCount,
    async use<T>(body: (client: pg.Client) => Promise<T>): Promise<T> {
      pendingCount++
      const connection = (current ??= connect())
      try {
        const client = await connection
        batchWrites(client)
        return await body(client)
      } catch (error) {
        if (isConnectionLost(error) && current === connection) {
          current = undefined
          isOpen = false
        }
        throw error
      } finally {
        pendingCount--
      }
    },
    drop,
    async close() {
      await current?.then((client) => client.end()).catch(() => undefined)
    },
  }
}

/** Sends all statements of one event-loop iteration in one write to the socket. */
function batchWrites({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
