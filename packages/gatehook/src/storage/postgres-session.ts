/**
 * Sessions with PostgreSQL: settings, types, names of statements, connections for reads. The only
 * file that touches pg. Transactions are not here.
 */
import pg from 'pg'
import type { Log } from '../kernel/log.ts'
import { type Row, type Statement, StorageError, type Value } from './database.ts'
import { isLost, isStalePlan, translate } from './postgres-errors.ts'
import { checkValues } from './transaction.ts'

const POOL_SIZE = 10
/** Connections for reads outside transactions; statements are pipelined, so few serve many. */
const READ_LANES = 4
/** A connection must be there, or come free, within this. */
const CONNECT_MS = 5_000
const STATEMENT_MS = 30_000
/** A transaction that was forgotten holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 30_000
/** Texts prepared by name; each costs the server memory per connection. Later texts are not. */
const NAMED_STATEMENTS_MAX = 1_000

/** Behind a lock somebody else holds, a caller is told to come again sooner than by the above. */
const LOCK_MS = 5_000

/** Without parallel workers, a UNION ALL yields its branches in the order they are written. */
const SESSION =
  '-c max_parallel_workers_per_gather=0 -c TimeZone=UTC -c client_min_messages=warning ' +
  `-c lock_timeout=${LOCK_MS}`

const INT8 = 20
const BOOLEAN = 16
const NUMERIC = 1700

/** Numbers as SQLite gives them: `count(*)` and `sum` are numbers, comparisons are 1 and 0. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === INT8 || oid === NUMERIC) return Number
    if (oid === BOOLEAN) return (text: string) => (text === 't' ? 1 : 0)
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

export type Session = pg.ClientBase
type Pool = pg.Pool

export interface Shape {
  readonly arrays?: boolean
  /** Said after the text: how rows are locked. */
  readonly suffix?: string
}

export interface Sessions {
  readonly pool: Pool
  /** Sends a statement; `rows` are objects, or arrays where `shape` says so. */
  send(session: Session, statement: Statement, shape?: Shape): Promise<pg.QueryResult>
  /** Reads outside a transaction. A connection that broke is replaced once. */
  read(statement: Statement, shape?: Shape): Promise<(Row | Value[])[]>
  /** A connection of its own; see `Database.listen`. The channel is an identifier of ours. */
  listen(channel: string, hear: (message: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** A database by its address, without user and password. */
const placeOf = (url: string): string => {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

export interface SessionsOptions {
  readonly log: Log
  /** Connections for transactions. */
  readonly poolSize?: number
  /** Whether commits are answered before they are on disk. */
  readonly late: boolean
}

function configOf(url: string, late: boolean): pg.PoolConfig {
  const address = new URL(url)
  const ours = late ? `${SESSION} -c synchronous_commit=off` : SESSION
  // Options in the URL replace ours in pg, so ours go into the URL, the operator's last.
  const options = [ours, address.searchParams.get('options') ?? ''].join(' ').trim()
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

/** Throws `StorageError` when the address is none, nobody answers, or the encoding is not UTF-8. */
export async function openSessions(url: string, options: SessionsOptions): Promise<Sessions> {
  const { log, poolSize = POOL_SIZE, late } = options
  if (!URL.canParse(url)) throw new StorageError('The address of the database is not a URL.')
  const config = configOf(url, late)
  const pool = new pg.Pool({ ...config, max: poolSize })
  // Also while a client is in use: without a listener a broken connection would end the process.
  pool.on('connect', (client) => client.on('error', (error) => lost(log, error)))
  pool.on('error', (error) => lost(log, error))
  const send = sender()
  try {
    const { rows } = await pool.query('SHOW server_encoding')
    const encoding = rows[0]?.server_encoding
    if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}, and UTF8 is needed`)
  } catch (error) {
    await pool.end()
    const why = (error as Error).message || (error as { code?: string }).code
    throw new StorageError(`The database ${placeOf(url)} cannot be opened: ${why}.`, {
      cause: error,
    })
  }
  const lanes = readLanes(config, log)
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
          if (attempt > 1 || !(isLost(error) || isStalePlan(error))) throw translate(error)
        }
      }
    },
    listen: (channel, hear) => listening(config, channel, hear, log),
    async close() {
      await Promise.all([pool.end(), lanes.close()])
    },
  }
}

const lost = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a connection to the database broke')

function sender(): Sessions['send'] {
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

interface Lane {
  use<T>(body: (client: pg.Client) => Promise<T>): Promise<T>
  /** The next use gets a new connection. */
  drop(): void
}

/** Pipelined connections; a statement goes where the fewest are under way. */
function readLanes(config: pg.PoolConfig, log: Log) {
  const lanes = Array.from({ length: READ_LANES }, () => lane(config, log))
  return {
    choose(): Lane {
      return lanes.reduce((best, other) => (other.underWay() < best.underWay() ? other : best))
    },
    async close() {
      await Promise.all(lanes.map((one) => one.close()))
    },
  }
}

function lane(config: pg.PoolConfig, log: Log) {
  let underWay = 0
  let current: Promise<pg.Client> | undefined
  const connect = (): Promise<pg.Client> => {
    const client = new pg.Client(config)
    const connected = client.connect().then(() => client)
    const forget = () => {
      if (current === connected) current = undefined
    }
    client.on('error', (error) => lost(log, error))
    client.on('end', forget)
    connected.catch(forget)
    return connected
  }
  const drop = () => {
    void current?.then((client) => client.end()).catch(() => undefined)
    current = undefined
  }
  return {
    underWay: () => underWay,
    async use<T>(body: (client: pg.Client) => Promise<T>): Promise<T> {
      underWay++
      const mine = (current ??= connect())
      try {
        const client = await mine
        gather(client)
        return await body(client)
      } catch (error) {
        if (isLost(error) && current === mine) current = undefined
        throw error
      } finally {
        underWay--
      }
    },
    drop,
    async close() {
      await current?.then((client) => client.end())
    },
  }
}

/** What one turn of the event loop sends goes out in one write, and is read there in one. */
function gather({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** A listening connection that broke is made again after this. */
const LISTEN_AGAIN_MS = 1_000

async function listening(
  config: pg.PoolConfig,
  channel: string,
  hear: (message: string) => void,
  log: Log,
): Promise<() => Promise<void>> {
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const again = () => {
    if (stopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      connect().catch((error: Error) => {
        lost(log, error)
        again()
      })
    }, LISTEN_AGAIN_MS)
    timer.unref()
  }
  const connect = async () => {
    const client = new pg.Client(config)
    client.on('error', (error) => lost(log, error))
    client.on('end', again)
    client.on('notification', ({ payload }) => hear(payload ?? ''))
    await client.connect()
    await client.query(`LISTEN ${channel}`)
    current = client
    if (stopped) await client.end()
  }
  await connect()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await current?.end().catch(() => undefined)
  }
}
