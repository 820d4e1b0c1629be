/**
 * Sessions with PostgreSQL: settings, types, statement names, connections for reads. Only this file
 * uses pg. Contains no transactions.
 */
import pg from 'pg'
import type { Log } from '../kernel/log.ts'
import { type Row, type Statement, StorageError, type Value } from './database.ts'
import { isConnectionLost, isStalePlan, translatePostgresError } from './postgres-errors.ts'
import { checkValues } from './transaction.ts'

const POOL_SIZE = 10
/** Connections for reads outside transactions; pipelining lets few connections serve many reads. */
const READ_LANES = 4
/** The time in which a connection must open, or one of the pool must become free. */
const CONNECT_MS = 5_000
const STATEMENT_MS = 30_000
/** The server ends a transaction that is idle for this time, and releases its locks. */
const IDLE_IN_TRANSACTION_MS = 30_000
/** Named prepared statements, which take memory per connection. Further texts have no name. */
const NAMED_STATEMENTS_MAX = 1_000

/** A statement waits for a lock for at most this time, which is below `STATEMENT_MS`. */
const LOCK_MS = 5_000

/** Without parallel workers, UNION ALL returns its branches in their order in the text. */
const SESSION_OPTIONS =
  '-c max_parallel_workers_per_gather=0 -c TimeZone=UTC -c client_min_messages=warning ' +
  `-c lock_timeout=${LOCK_MS}`

const INT8 = 20
const BOOLEAN = 16
const NUMERIC = 1700

/** Parses numbers as SQLite returns them: `count(*)` and `sum` are numbers, booleans 1 and 0. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8 || oid === NUMERIC) return Number
    if (oid === BOOLEAN) return (text: string) => (text === 't' ? 1 : 0)
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

export type Session = pg.ClientBase
type Pool = pg.Pool

export interface ResultShape {
  readonly arrays?: boolean
  /** A clause after the text: the row lock, or RETURNING. */
  readonly suffix?: string
}

export interface Sessions {
  readonly pool: Pool
  /** Sends a statement; `rows` are objects, or arrays if `shape.arrays`. */
  send(session: Session, statement: Statement, shape?: ResultShape): Promise<pg.QueryResult>
  /** Reads outside a transaction. Retries once on a new connection when the first one breaks. */
  read(statement: Statement, shape?: ResultShape): Promise<(Row | Value[])[]>
  /** Listens on a separate connection; see `Database.listen`. The channel is part of the SQL. */
  listen(channel: string, onMessage: (message: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** Returns the address of a database without user and password. */
const addressWithoutSecrets = (url: string): string => {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

export interface SessionsOptions {
  readonly log: Log
  /** Connections for transactions. */
  readonly poolSize?: number
  /** Whether commits are acknowledged before the server syncs them to disk. */
  readonly isSyncDelayed: boolean
}

function createConfig(url: string, isSyncDelayed: boolean): pg.PoolConfig {
  const address = new URL(url)
  const defaults = isSyncDelayed ? `${SESSION_OPTIONS} -c synchronous_commit=off` : SESSION_OPTIONS
  // In pg, options of the URL replace those of the configuration, so both go into the URL. The
  // operator's come last and take precedence.
  const options = [defaults, address.searchParams.get('options') ?? ''].join(' ').trim()
  address.searchParams.set('options', options)
  return {
    connectionString: address.href,
    application_name: 'gatehook',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    pipeline: true,
    types,
  }
}

/** Throws `StorageError` for an invalid address, an unreachable server, or a wrong encoding. */
export async function openSessions(url: string, options: SessionsOptions): Promise<Sessions> {
  const { log, poolSize = POOL_SIZE, isSyncDelayed } = options
  if (!URL.canParse(url)) throw new StorageError('The address of the database is not a URL.')
  const config = createConfig(url, isSyncDelayed)
  const pool = new pg.Pool({ ...config, max: poolSize })
  // For clients in use too: without a listener a broken connection would end the process.
  pool.on('connect', (client) => client.on('error', (error) => logBrokenConnection(log, error)))
  pool.on('error', (error) => logBrokenConnection(log, error))
  const send = createSender()
  try {
    const { rows } = await pool.query('SHOW server_encoding')
    const encoding = rows[0]?.server_encoding
    if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}; UTF8 is required`)
  } catch (error) {
    await pool.end()
    const reason = (error as Error).message || (error as { code?: string }).code
    throw new StorageError(
      `The database ${addressWithoutSecrets(url)} cannot be opened: ${reason}.`,
      {
        cause: error,
      },
    )
  }
  const lanes = createReadLanes(config, log)
  return {
    pool,
    send,
    async read(statement, shape) {
      checkValues(statement.values)
      for (let attempt = 1; ; attempt++) {
        const lane = lanes.choose()
        try {
          return (await lane.use((client) => send(client, statement, shape))).rows
        } catch (error) {
          if (isStalePlan(error)) lane.drop()
          if (attempt > 1 || !(isConnectionLost(error) || isStalePlan(error)))
            throw translatePostgresError(error)
        }
      }
    },
    listen: (channel, onMessage) => listen(config, channel, onMessage, log),
    async close() {
      await Promise.all([pool.end(), lanes.close()])
    },
  }
}

const logBrokenConnection = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a connection to the database broke')

function createSender(): Sessions['send'] {
  const names = new Map<string, string>()
  const nameOf = (text: string): string | undefined => {
    let name = names.get(text)
    if (name === undefined && names.size < NAMED_STATEMENTS_MAX) {
      names.set(text, (name = `gh${names.size}`))
    }
    return name
  }
  return (session, statement, shape) => {
    const text = statement.text + (shape?.suffix ?? '')
    const name = statement.planned ? undefined : nameOf(text)
    return session.query({
      text,
      values: statement.values as unknown[],
      ...(name !== undefined && { name }),
      ...(shape?.arrays && { rowMode: 'array' }),
    } as pg.QueryConfig)
  }
}

interface ReadLane {
  use<T>(body: (client: pg.Client) => Promise<T>): Promise<T>
  /** The next use gets a new connection. */
  drop(): void
}

/** Creates pipelined connections; each statement uses the one with the fewest pending. */
function createReadLanes(config: pg.PoolConfig, log: Log) {
  const lanes = Array.from({ length: READ_LANES }, () => createLane(config, log))
  return {
    choose(): ReadLane {
      return lanes.reduce((best, other) =>
        other.pendingCount() < best.pendingCount() ? other : best,
      )
    },
    async close() {
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}

function createLane(config: pg.PoolConfig, log: Log) {
  let pendingCount = 0
  let current: Promise<pg.Client> | undefined
  const connect = (): Promise<pg.Client> => {
    const client = new pg.Client(config)
    const connected = client.connect().then(() => client)
    const clear = () => {
      if (current === connected) current = undefined
    }
    client.on('error', (error) => logBrokenConnection(log, error))
    client.on('end', clear)
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

/** Pause before a broken listening connection is replaced. */
const RECONNECT_PAUSE_MS = 1_000

async function listen(
  config: pg.PoolConfig,
  channel: string,
  onMessage: (message: string) => void,
  log: Log,
): Promise<() => Promise<void>> {
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const reconnect = () => {
    if (isStopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      connect().catch((error: Error) => {
        logBrokenConnection(log, error)
        reconnect()
      })
    }, RECONNECT_PAUSE_MS)
    timer.unref()
  }
  const connect = async () => {
    const client = new pg.Client(config)
    client.on('error', (error) => logBrokenConnection(log, error))
    client.on('end', reconnect)
    client.on('notification', ({ payload }) => onMessage(payload ?? ''))
    await client.connect()
    await client.query(`LISTEN ${channel}`)
    current = client
    if (isStopped) await client.end()
  }
  await connect()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await current?.end().catch(() => undefined)
  }
}
