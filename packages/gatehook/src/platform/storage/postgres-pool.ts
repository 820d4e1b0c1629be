/**
 * The pool of connections for transactions. It waits for a connection that is open while the server
 * opens no further one, and replaces all of them after a promotion.
 */
import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import { type ConnectionSource, logBrokenConnection } from './connection-source.ts'
import { cannotGrow, isRefusal } from './postgres-errors.ts'

/**
 * An unused connection of the pool closes after this time. Most periodic writes of a node are more
 * frequent, and use the same connection each time.
 */
const UNUSED_MS = 30_000
/** The time after which connections may be replaced again. */
const GENERATION_MS = 1_000
/** The pool opens no connection for this time after the server had none left. */
const PAUSE_MS = 2_000

export interface TransactionPool {
  /** Takes a connection; with several hosts, of the first one that is usable. */
  connect(): Promise<PoolClient>
  waitingCount(): number
  /** Replaces all connections before their next use. */
  replace(): void
  /** Whether the last replacement is at least a second ago. */
  isReplaceable(): boolean
  close(): Promise<void>
}

export function openPool(
  source: ConnectionSource,
  max: number,
  newPool: (config: PoolConfig) => Pool,
): TransactionPool {
  const { hosts, log } = source
  /** Connects to the host that is current then, which the options of a pool cannot express. */
  const Client = function createClient() {
    // A batch is one query of pg, which its pipeline mode would reject.
    return source.createClient({ pipeline: false }, true)
  } as unknown as NonNullable<PoolConfig['Client']>
  const options = { max, idleTimeoutMillis: UNUSED_MS, Client, onConnect: source.verify }
  const pool = newPool({ ...hosts.config(), ...options } as PoolConfig)
  const generations = createGenerations()
  let openCount = 0
  pool.on('connect', (client) => {
    openCount++
    generations.note(client)
    // For clients in use too: without a listener a broken connection would end the process.
    client.on('error', (error) => logBrokenConnection(log, error))
  })
  pool.on('remove', () => openCount--)
  pool.on('error', (error) => logBrokenConnection(log, error))
  let timer: NodeJS.Timeout | undefined
  /** The pool is full with the connections that are open, so that requests wait for them. */
  const pauseGrowth = () => {
    pool.options.max = openCount
    timer ??= setTimeout(() => {
      timer = undefined
      pool.options.max = max
    }, PAUSE_MS).unref()
  }
  const take = async (): Promise<PoolClient> => {
    const startMs = wallClock.elapsedMs()
    for (;;) {
      try {
        return await pool.connect()
      } catch (error) {
        const isLate = wallClock.elapsedMs() - startMs > PAUSE_MS
        const isRefused = cannotGrow(error) || isRefusal(error)
        if (!isRefused || openCount === 0 || isLate) throw error
        pauseGrowth()
      }
    }
  }
  return {
    async connect() {
      for (;;) {
        const session = await source.tryHosts(take)
        if (generations.isCurrent(session)) return session
        session.release(true)
      }
    },
    waitingCount: () => pool.waitingCount,
    replace: generations.begin,
    isReplaceable: generations.isOld,
    async close() {
      clearTimeout(timer)
      await pool.end()
    },
  }
}

/** The connections of the pool by generation: those of former ones are replaced. */
function createGenerations() {
  const generationOf = new WeakMap<ClientBase, number>()
  let current = 0
  let beganMs = Number.NEGATIVE_INFINITY
  return {
    note: (session: ClientBase) => void generationOf.set(session, current),
    isCurrent: (session: ClientBase) => generationOf.get(session) === current,
    isOld: () => wallClock.elapsedMs() - beganMs >= GENERATION_MS,
    begin() {
      current++
      beganMs = wallClock.elapsedMs()
    },
  }
}
