/**
 * Sessions with PostgreSQL: settings, types, statement names, connections for reads. Only this file
 * uses pg. Contains no transactions.
 */
import pg from 'pg'
import { wallClock } from '../kernel/clock.ts'
import type { DatabaseTarget } from '../kernel/database-target.ts'
import type { Log } from '../kernel/log.ts'
import { type Promotion, type Row, type Statement, StorageError, type Value } from './database.ts'
import { type BatchStatement, sendBatch } from './postgres-batch.ts'
import {
  isConnectionLost,
  isPoolFull,
  isStalePlan,
  StandbyError,
  translatePostgresError,
  UnreplicatedError,
} from './postgres-errors.ts'
import { createHosts, type PostgresHosts } from './postgres-hosts.ts'
import { createReadLanes } from './postgres-lanes.ts'
import {
  createNames,
  createSender,
  type ResultShape,
  type SendStatement,
  sendInTransaction,
} from './postgres-send.ts'
import { compareHosts, createTimelineGuard, type TimelineGuard } from './postgres-timeline.ts'
import { checkValues } from './transaction.ts'

const CONNECTIONS = { transactions: 10, reads: 4 }
/** Values of `synchronous_commit`: a commit waits for the disk of the primary, or of a standby. */
const COMMIT_MODES = { local: 'local', replica: 'on' } as const

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

const createResult = (mode: 'array' | ''): object =>
  new pg.Result(mode, types as unknown as typeof pg.types)

export type Session = pg.ClientBase

export interface Sessions {
  /** Connections for transactions. */
  readonly size: number
  /** Takes a connection of the pool; with several hosts, of the first one that is usable. */
  connect(): Promise<pg.PoolClient>
  /** Returns the number of transactions that wait for a connection. */
  waitingCount(): number
  /**
   * Begins a transaction. Returns the statements of `begin` that the first batch must contain:
   * none behind a pooler.
   */
  begin(session: Session, begin: readonly string[]): Promise<readonly string[]>
  /** Whether COMMIT can be part of a batch; otherwise `commit` waits for a replica. */
  readonly commitsInBatch: boolean
  /** Commits; throws `UnreplicatedError` if a replica should confirm it and did not. */
  commit(session: Session): Promise<void>
  onPromotion(listener: (promotion: Promotion) => void): void
  /** Replaces all connections, at most once a second: the server of one rejects writes. */
  leaveStandby(): void
  /** Sends a statement; `rows` are objects, or arrays if `shape.arrays`. */
  readonly send: SendStatement
  /** Returns the name under which a connection prepares a text; undefined: it has none. */
  nameOf(text: string): string | undefined
  /** Sends statements in one round trip; resolves at its end. */
  sendBatch(session: Session, statements: readonly BatchStatement[]): Promise<void>
  /** Reads outside a transaction. Retries once on a new connection when the first one breaks. */
  read(statement: Statement, shape?: ResultShape): Promise<(Row | Value[])[]>
  /**
   * Runs `use` on a connection of its own. `hasSession`: its settings and locks last as long as the
   * connection; false behind a pooler without a direct address. `signal` breaks the connection; the
   * server completes the current statement.
   */
  dedicate<T>(
    use: (session: Session, hasSession: boolean) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>
  /** Listens on a separate connection; see `Database.listen`. The channel is part of the SQL. */
  listen(channel: string, onMessage: (message: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

export interface SessionsOptions {
  readonly log: Log
  readonly connections?: { readonly transactions?: number; readonly reads?: number } | undefined
  /** Whether commits are acknowledged before the server syncs them to disk. */
  readonly isSyncDelayed: boolean
  /** See `OpenDeps`. */
  readonly plansOnce?: boolean | undefined
}

/** Throws `StorageError` for an invalid address, an unreachable server, or a wrong encoding. */
export async function openSessions(
  target: DatabaseTarget,
  options: SessionsOptions,
): Promise<Sessions> {
  const { log, isSyncDelayed } = options
  const { pooler, durability, maintains = [] } = target
  const synchronousCommit = isSyncDelayed ? 'off' : durability && COMMIT_MODES[durability]
  const settings = {
    ...(synchronousCommit && { synchronous_commit: synchronousCommit }),
    ...(options.plansOnce && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
    // Triggers of resources read it (`resources/stale-rows.ts`).
    ...(maintains.length > 0 && { 'gatehook.maintains': maintains.join(',') }),
  }
  const hosts = createHosts(target.url, { pooler, settings })
  const guard = createTimelineGuard(log)
  // A pooler forwards no notifications and shares locks of sessions; the direct address does not.
  const directHosts = pooler ? target.directUrl && createHosts(target.directUrl, {}) : hosts
  const { transactions: size, reads } = { ...CONNECTIONS, ...options.connections }
  const pool = openPool({ hosts, guard, log }, size)
  const generations = createGenerations()
  pool.on('connect', generations.note)
  const connect = async () => {
    for (;;) {
      const session = await tryHosts(hosts, () => pool.connect())
      if (generations.isCurrent(session)) return session
      session.release(true)
    }
  }
  const nameOf = createNames(pooler === undefined)
  const send = createSender(nameOf)
  await compareHosts(hosts, guard, (config) => new pg.Client(config))
  await requireUtf8(connect, hosts).catch(async (error) => {
    await pool.end()
    throw error
  })
  const lanes = createReadLanes(() => openClient({ hosts, guard, log }), reads)
  const replaceConnections = () => {
    generations.begin()
    lanes.drop()
  }
  guard.onPromotion(replaceConnections)
  const { localSettings } = hosts
  const sendRead = localSettings === '' ? send : sendInTransaction(send, localSettings)
  return {
    size,
    connect,
    waitingCount: () => pool.waitingCount,
    begin: pooler
      ? (session, begin) => beginPooled({ hosts, guard }, session, begin)
      : async (_, begin) => begin,
    commitsInBatch: durability !== 'replica' || isSyncDelayed,
    commit: commitReplicated,
    nameOf,
    sendBatch: (session, statements) => sendBatch(session, statements, createResult),
    onPromotion: guard.onPromotion,
    leaveStandby() {
      if (!generations.isOld()) return
      hosts.moveOn(hosts.current())
      replaceConnections()
    },
    send,
    async read(statement, shape) {
      checkValues(statement.values)
      for (let attempt = 1; ; attempt++) {
        const lane = lanes.choose()
        try {
          return (await lane.use((client) => sendRead(client, statement, shape))).rows
        } catch (error) {
          if (isStalePlan(error)) lane.drop()
          if (attempt > 1 || !(isConnectionLost(error) || isStalePlan(error)))
            throw translatePostgresError(error)
        }
      }
    },
    listen: async (channel, onMessage) =>
      directHosts ? listen({ hosts: directHosts, guard, log }, channel, onMessage) : async () => {},
    dedicate: (use, signal) =>
      dedicate(
        { hosts: directHosts || hosts, guard, log },
        (session) => use(session, directHosts !== undefined),
        signal,
      ),
    async close() {
      await Promise.all([pool.end(), lanes.close()])
    },
  }
}

/**
 * Opens one connection by `open`, on the current host or on one of the others. A full pool is not
 * the fault of its host.
 */
async function tryHosts<T>(hosts: PostgresHosts, open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const host = hosts.current()
    try {
      return await open()
    } catch (error) {
      if (attempt >= hosts.count || isPoolFull(error)) throw error
      hosts.moveOn(host)
    }
  }
}

/** The time after which connections may be replaced again. */
const GENERATION_MS = 1_000

/** The connections of the pool by generation: those of former ones are replaced. */
function createGenerations() {
  const generationOf = new WeakMap<Session, number>()
  let current = 0
  let beganMs = Number.NEGATIVE_INFINITY
  return {
    note: (session: Session) => void generationOf.set(session, current),
    isCurrent: (session: Session) => generationOf.get(session) === current,
    isOld: () => wallClock.elapsedMs() - beganMs >= GENERATION_MS,
    begin() {
      current++
      beganMs = wallClock.elapsedMs()
    },
  }
}

/** The parts that open a connection. */
interface ConnectionSource {
  readonly hosts: PostgresHosts
  readonly guard: TimelineGuard
  readonly log: Log
}

/**
 * An unused connection of the pool closes after this time. Most periodic writes of a node are more
 * frequent, and use the same connection each time.
 */
const UNUSED_MS = 30_000

function openPool({ hosts, guard, log }: ConnectionSource, max: number): pg.Pool {
  /** Connects to the host that is current then, which the options of a pool cannot express. */
  const Client = function createClient() {
    // A batch is one query of pg, which its pipeline mode would reject.
    return new pg.Client({ ...hosts.config(), types, pipeline: false })
  } as unknown as typeof pg.Client
  const onConnect = (client: Session) => guard.verify(client, hosts.requiresPrimary)
  const options = { max, idleTimeoutMillis: UNUSED_MS, Client, onConnect }
  const pool = new pg.Pool({ ...hosts.config(), ...options } as pg.PoolConfig)
  // For clients in use too: without a listener a broken connection would end the process.
  pool.on('connect', (client) => client.on('error', (error) => logBrokenConnection(log, error)))
  pool.on('error', (error) => logBrokenConnection(log, error))
  return pool
}

/** Times that the server of a pooled session may change before its transaction begins. */
const BEGIN_ATTEMPTS_MAX = 3

/** Begins a transaction behind a pooler: sets its settings, and reads the server's timeline. */
async function beginPooled(
  { hosts, guard }: Pick<ConnectionSource, 'hosts' | 'guard'>,
  session: Session,
  begin: readonly string[],
): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt++) {
    const query = guard.query()
    const text = `${begin.join('; ')}${hosts.localSettings}${query && `; ${query}`}`
    const results = (await session.query(text)) as unknown as pg.QueryResult[]
    if (query === '' || guard.isCurrent(results.at(-1)!.rows[0].timeline)) return []
    await session.query('ROLLBACK')
    if (attempt === BEGIN_ATTEMPTS_MAX) throw new StandbyError()
    await guard.verify(session, hosts.requiresPrimary)
  }
}

/** The message of pg for a query that exceeds `query_timeout`. */
const TIMEOUT_TEXT = 'Query read timeout'
/** The time that a replica has to confirm a commit; `statement_timeout` does not end the wait. */
const REPLICA_MS = 10_000

/**
 * Commits, and waits for a replica. When an administrator ends the wait, the server reports success
 * with a warning.
 */
async function commitReplicated(session: Session): Promise<void> {
  let warning: string | undefined
  const onNotice = ({ message }: { readonly message?: string | undefined }) => {
    warning = message ?? 'a warning'
  }
  session.on('notice', onNotice)
  try {
    const query = { text: 'COMMIT', query_timeout: REPLICA_MS }
    await session.query(query as pg.QueryConfig).catch((error: Error) => {
      throw error.message === TIMEOUT_TEXT ? new UnreplicatedError(error.message) : error
    })
  } finally {
    session.removeListener('notice', onNotice)
  }
  if (warning !== undefined) throw new UnreplicatedError(warning)
}

/** Opens a connection outside the pool. */
const openClient = ({ hosts, guard, log }: ConnectionSource): Promise<pg.Client> =>
  tryHosts(hosts, async () => {
    const client = new pg.Client({ ...hosts.config(), types })
    client.on('error', (error) => logBrokenConnection(log, error))
    await client.connect()
    try {
      await guard.verify(client, hosts.requiresPrimary)
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
    return client
  })

const TLS_ADVICE =
  ' A host that is not local must have a valid certificate: add sslrootcert=FILE to the address ' +
  'for an authority of your own, or sslmode=disable for a private network'

async function requireUtf8(connect: Sessions['connect'], hosts: PostgresHosts): Promise<void> {
  try {
    const client = await connect()
    const { rows } = await client.query('SHOW server_encoding').finally(() => client.release())
    const encoding = rows[0]?.server_encoding
    if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}; UTF8 is required`)
  } catch (error) {
    const reason = (error as Error).message || (error as { code?: string }).code
    const isTls = hosts.verifiesByDefault && /SSL|certificate|altnames/i.test(String(reason))
    throw new StorageError(
      `The database ${hosts.label} cannot be opened: ${reason}.${isTls ? `${TLS_ADVICE}.` : ''}`,
      { cause: error },
    )
  }
}

const logBrokenConnection = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a connection to the database broke')

async function dedicate<T>(
  source: ConnectionSource,
  use: (session: Session) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const client = await openClient(source)
  const cut = () => client.connection.stream.destroy()
  signal?.addEventListener('abort', cut)
  try {
    return await use(client)
  } finally {
    signal?.removeEventListener('abort', cut)
    await client.end().catch(() => undefined)
  }
}

/** Pause before a broken listening connection is replaced. */
const RECONNECT_PAUSE_MS = 1_000

async function listen(
  source: ConnectionSource,
  channel: string,
  onMessage: (message: string) => void,
): Promise<() => Promise<void>> {
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const reconnect = () => {
    if (isStopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      connect().catch((error: Error) => {
        logBrokenConnection(source.log, error)
        reconnect()
      })
    }, RECONNECT_PAUSE_MS)
    timer.unref()
  }
  const connect = async () => {
    const client = await openClient(source)
    client.on('end', reconnect)
    client.on('notification', ({ payload }) => onMessage(payload ?? ''))
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
