/** Pipelined connections for reads outside transactions. Opens them when they are needed. */
import type pg from 'pg'
import { isConnectionLost } from './postgres-errors.ts'

interface ReadLane {
  use<T>(body: (client: pg.Client) => Promise<T>): Promise<T>
  /** The next use gets a new connection. */
  drop(): void
}

/** Creates pipelined connections; each statement uses the one with the fewest pending. */
export function createReadLanes(open: () => Promise<pg.Client>, count: number) {
  const lanes = Array.from({ length: count }, () => createLane(open))
  return {
    choose(): ReadLane {
      return lanes.reduce((best, other) =>
        other.pendingCount() < best.pendingCount() ? other : best,
      )
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
  const connect = (): Promise<pg.Client> => {
    const clear = () => {
      if (current === connected) current = undefined
    }
    const connected = open().then((client) => {
      client.on('end', clear)
      return client
    })
    connected.catch(clear)
    return connected
  }
  const drop = () => {
    void current?.then((client) => client.end()).catch(() => undefined)
    current = undefined
  }
  return {
    pendingCount: () => pendingCount,
    async use<T>(body: (client: pg.Client) => Promise<T>): Promise<T> {
      pendingCount++
      const connection = (current ??= connect())
      try {
        const client = await connection
        batchWrites(client)
        return await body(client)
      } catch (error) {
        if (isConnectionLost(error) && current === connection) current = undefined
        throw error
      } finally {
        pendingCount--
      }
    },
    drop,
    async close() {
      await current?.then((client) => client.end())
    },
  }
}

/** Sends all statements of one event-loop iteration in one write to the socket. */
function batchWrites({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
