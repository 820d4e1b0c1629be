/**
 * Sessions with PostgreSQL: settings, types, statement names, connections for reads. Only this file
 * uses pg. Contains no transactions.
 */
import pg from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import type { Log } from '../../kernel/log.ts'
import type { CommitPosition } from './commit-position.ts'
import { type ConnectionSource, createConnectionSource } from './connection-source.ts'
import {
  type Promotion,
  type Row,
  type Statement,
  StorageWaitError,
  type Value,
} from './database.ts'
import { sentenceOf } from './database-origin.ts'
import type { DatabaseServers } from './database-servers.ts'
import { limitLookup } from './host-lookup.ts'
import { LEAST_LOCK_MS, type LockWait } from './lock-wait.ts'
import { createLockWatch, READ_TRANSACTION, type ServerTransaction } from './lock-watch.ts'
import { dedicate, listen } from './own-connections.ts'
import { type BatchStatement, sendBatch } from './postgres-batch.ts'
import {
  beginErrorOf,
  cannotBeOpened,
  isConnectionLost,
  isLockTimeout,
  isOpeningRefused,
  isStalePlan,
  StandbyError,
  translatePostgresError,
} from './postgres-errors.ts'
import { createHosts, type PostgresHosts } from './postgres-hosts.ts'
import { createReadLanes } from './postgres-lanes.ts'
import { type PostgresPlace, placeOf } from './postgres-place.ts'
import { openPool } from './postgres-pool.ts'
import { guardParser } from './postgres-protocol.ts'
import {
  createNames,
  createSender,
  type ResultShape,
  type SendStatement,
  sendInTransaction,
} from './postgres-send.ts'
import { createTimelineGuard, type ServerRow, type TimelineGuard } from './postgres-timeline.ts'
import { faultThroughPooler } from './primary-fault.ts'
import { commitReplicated } from './replicated-commit.ts'
import {
  createServerComparison,
  type ServerComparison,
  startComparing,
} from './server-comparison.ts'
import { createTableState, type TableState } from './table-state.ts'
import { checkValues } from './transaction.ts'

const CONNECTIONS = { transactions: 10, reads: 4 }
/** Values of `synchronous_commit`: a commit waits for the disk of the primary, or of a standby. */
const COMMIT_MODES = { local: 'local', replica: 'on' } as const

const OIDS = { boolean: 16, int8: 20, numeric: 1700 }

/** Parses numbers as SQLite returns them: `count(*)` and `sum` are numbers, booleans 1 and 0. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === OIDS.int8 || oid === OIDS.numeric) return Number
    if (oid === OIDS.boolean) return (text: string) => (text === 't' ? 1 : 0)
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

const createResult = (mode: 'array' | ''): object =>
  new pg.Result(mode, types as unknown as typeof pg.types)

export type Session = pg.ClientBase

export interface Sessions {
  readonly place: PostgresPlace
  /** Connections for transactions. */
  readonly size: number
  /** Takes a connection of the pool; with several hosts, of the first one that is usable. */
  connect(): Promise<pg.PoolClient>
  readonly servers: DatabaseServers
  /** Returns the number of transactions that wait for a connection. */
  waitingCount(): number
  /**
   * Begins a transaction. Returns the statements of `begin` that the first batch must contain:
   * none behind a pooler.
   */
  begin(session: Session, begin: readonly string[]): Promise<readonly string[]>
  /** Whether COMMIT can be part of a batch; otherwise `commit` waits for a replica. */
  readonly commitsInBatch: boolean
  /** See `OpenDeps`: a batch with COMMIT notes its position here. */
  readonly commits: CommitPosition | undefined
  readonly tables: TableState
  /**
   * Commits. Throws `UnreplicatedError` if a replica should confirm it and did not, and
   * `DurabilityLostError` without a commit if the server would wait for none.
   */
  commit(session: Session): Promise<void>
  onPromotion(listener: (promotion: Promotion) => void): void
  /** Replaces all connections, at most once a second: the server of one rejects writes. */
  leaveStandby(error: unknown): void
  /** Sends a statement; `rows` are objects, or arrays if `shape.arrays`. */
  readonly send: SendStatement
  /** Returns the name under which a connection prepares a text; undefined: it has none. */
  nameOf(text: string): string | undefined
  /** Sends statements in one round trip; resolves at its end. `wait` limits what they wait. */
  sendBatch(session: Session, statements: readonly BatchStatement[], wait?: LockWait): Promise<void>
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
  /** Listens on a separate connection; see `Database.listen`. */
  listen(channel: string, onMessage: (message: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

export interface SessionsOptions {
  readonly log: Log
  readonly connections?: { readonly transactions?: number; readonly reads?: number } | undefined
  /** Whether commits are acknowledged before the server syncs them to disk. */
  readonly isSyncDelayed: boolean
  /** See `OpenDeps`. */
  readonly commits?: CommitPosition | undefined
  /** See `OpenDeps`. */
  readonly tables?: TableState | undefined
  /** See `OpenDeps`. */
  readonly plansOnce?: boolean | undefined
}

/** Throws `StorageError` for an invalid address, an unreachable server, or a wrong encoding. */
export async function openSessions(
  target: DatabaseTarget,
  options: SessionsOptions,
): Promise<Sessions> {
  const { log, isSyncDelayed, commits, tables = createTableState() } = options
  const { pooler, durability, node } = target
  const place = placeOf(target)
  const settings = settingsOf(target, place, options)
  const hosts = createHosts(target.url, { pooler, node, settings })
  const guard = createTimelineGuard(log, { place, origin: target.origin })
  const source = createConnectionSource({ hosts, guard, log, newClient })
  // A pooler forwards no notifications and shares locks of sessions; the direct address does not.
  const directHosts = target.directUrl ? createHosts(target.directUrl, { node }) : undefined
  const directSource = directHosts ? { hosts: directHosts, guard, log, newClient } : undefined
  const direct = pooler ? directSource && createConnectionSource(directSource) : source
  const { transactions: size, reads } = { ...CONNECTIONS, ...options.connections }
  const pool = openPool(source, size, (config) => new pg.Pool(config))
  const nameOf = createNames(pooler === undefined)
  const send = createSender(nameOf)
  const comparison = createComparison(hosts, directHosts, target, guard)
  await comparison?.compare(false)
  const fit = requireFit(pool.connect, hosts, { ...place, owner: target.owner })
  await fit
    .then(() => requireOneDatabase(comparison))
    .catch(async (error) => {
      comparison?.close()
      source.stop()
      await pool.close()
      throw error
    })
  const lanes = createReadLanes(source.open, reads)
  const replaceConnections = () => {
    pool.replace()
    lanes.drop()
  }
  guard.onPromotion(replaceConnections)
  source.onHung(() => {
    if (pool.isReplaceable()) replaceConnections()
  })
  const leaveOthers = () => {
    const isElsewhere = guard.isSuspect() || comparison?.isMisled(hosts.all)
    if (isElsewhere && pool.isReplaceable()) replaceConnections()
  }
  const hasFault = () => hosts.isPooled && source.fault() !== undefined
  const stopComparing =
    comparison && startComparing(comparison, { hasFault, onCompared: leaveOthers, log })
  const read = createRead(lanes, hosts, send)
  const locks = createLockWatch(read, log)
  const pooledTransactions = new WeakMap<Session, ServerTransaction>()
  return {
    place,
    size,
    connect: pool.connect,
    waitingCount: pool.waitingCount,
    servers: createServers(source, comparison, directHosts),
    async begin(session, begin) {
      if (!pooler) return [...begin, ...guard.requireTables()]
      const transaction = await beginPooled(source, session, begin)
      source.noteTransaction(session, transaction.processId)
      pooledTransactions.set(session, transaction)
      return []
    },
    commitsInBatch: durability !== 'replica' || isSyncDelayed,
    ...{ commits, tables },
    commit: (session) => commitReplicated(session, commits, tables),
    nameOf,
    sendBatch(session, statements, wait) {
      const transaction = pooler ? pooledTransactions.get(session) : transactionOf(session)
      return locks.follow(transaction, wait, sendBatch(session, statements, createResult))
    },
    onPromotion: guard.onPromotion,
    leaveStandby(error) {
      if (pooler) source.noteServer(error)
      if (!pool.isReplaceable()) return
      hosts.moveOn(hosts.current())
      replaceConnections()
    },
    send,
    read,
    listen: async (channel, onMessage) =>
      direct ? listen(direct, place.channel(channel), onMessage) : async () => {},
    dedicate: (use, signal) =>
      dedicate(direct ?? source, (session) => use(session, direct !== undefined), signal),
    async close() {
      await Promise.all([stopComparing?.(), locks.stop()])
      await Promise.all([pool.close(), lanes.close()])
      source.stop()
      direct?.stop()
    },
  }
}

const settingsOf = (
  { durability }: DatabaseTarget,
  place: PostgresPlace,
  { isSyncDelayed, plansOnce }: SessionsOptions,
) => ({
  search_path: place.schema,
  // A policy that an administrator adds fails statements instead of hiding rows.
  row_security: 'off',
  ...(durability && { synchronous_commit: COMMIT_MODES[durability] }),
  ...(isSyncDelayed && { synchronous_commit: 'off' }),
  ...(plansOnce && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
})

/** A read is repeated once on a new connection when the first one breaks, or is blocked. */
function createRead(
  lanes: ReturnType<typeof createReadLanes>,
  { localSettings }: PostgresHosts,
  send: SendStatement,
): Sessions['read'] {
  const sendRead = localSettings === '' ? send : sendInTransaction(send, localSettings)
  return async (statement, shape) => {
    checkValues(statement.values)
    const startMs = wallClock.elapsedMs()
    for (let attempt = 1; ; attempt++) {
      const lane = lanes.choose(statement.text)
      try {
        const send = (client: pg.Client) => sendRead(client, statement, shape)
        return (await lane.use(send, () => lanes.noteBlocked(statement.text))).rows
      } catch (error) {
        if (isStalePlan(error)) lane.drop()
        const isElsewhere = isOpeningRefused(error) && lanes.pauseGrowth()
        // Another statement of its lane waited for a lock.
        const isBehind = isLockTimeout(error) && wallClock.elapsedMs() - startMs < LEAST_LOCK_MS
        const isRepeated = isElsewhere || isBehind || isConnectionLost(error) || isStalePlan(error)
        if (attempt > 1 || !isRepeated) throw translatePostgresError(error)
      }
    }
  }
}

const newClient = (config: pg.ClientConfig): pg.Client =>
  limitLookup(guardParser(new pg.Client({ ...config, types })))

function createServers(
  { hosts, guard: { origin }, fault: currentFault, hungCount, isStarved }: ConnectionSource,
  comparison: ServerComparison | undefined,
  directHosts: PostgresHosts | undefined,
): DatabaseServers {
  return {
    fault() {
      const fault = currentFault()
      if (!hosts.isPooled || fault === undefined) return fault
      return faultThroughPooler(fault, directHosts && comparison?.faultOf(directHosts.all))
    },
    ...{ hungCount, isStarved },
    directFault: () => directHosts && comparison?.lastingFaultOf(directHosts.all),
    origin: origin.current,
    misled() {
      const refused = currentFault() === 'other_database' ? origin.refused() : undefined
      const misled = origin.describe(hosts.label, refused) ?? comparison?.misled()
      return misled && sentenceOf(misled)
    },
  }
}

/** Throws if an address leads to another database than that of the node. */
function requireOneDatabase(comparison: ServerComparison | undefined): void {
  const misled = comparison?.misled()
  if (misled !== undefined) throw new StorageWaitError(sentenceOf(misled))
}

/**
 * Compares the timelines and databases of all servers; undefined if there is one: each connection
 * verifies it. A pooler can lead its connections elsewhere.
 */
function createComparison(
  hosts: PostgresHosts,
  directHosts: PostgresHosts | undefined,
  { directUrl, node, otherUrls = [] }: DatabaseTarget,
  guard: TimelineGuard,
): ServerComparison | undefined {
  const others = otherUrls.map((url) =>
    url === directUrl && directHosts ? directHosts : createHosts(url, { node }),
  )
  const addresses = [hosts, ...others]
  const isOne = !hosts.isPooled && addresses.length === 1 && hosts.count === 1
  return isOne ? undefined : createServerComparison(addresses, guard, newClient)
}

const transactionOf = (session: Session): ServerTransaction => ({
  processId: (session as unknown as { readonly processID: number }).processID,
})

/** Times that the server of a pooled session may change before its transaction begins. */
const BEGIN_ATTEMPTS_MAX = 3

/**
 * Begins a transaction behind a pooler: sets its settings, and reads the server's timeline and its
 * process for the transaction.
 */
async function beginPooled(
  { hosts, guard, noteServer }: ConnectionSource,
  session: Session,
  begin: readonly string[],
): Promise<ServerTransaction> {
  for (let attempt = 1; ; attempt++) {
    const text = `${begin.join('; ')}${hosts.localSettings}; ${READ_TRANSACTION}; ${guard.query()}`
    const results = await session.query(text).catch((error) => {
      throw beginErrorOf(error)
    })
    const rows = (results as unknown as pg.QueryResult[]).flatMap((result) => result.rows)
    const server = rows[1] as ServerRow
    if (guard.isCurrent(server)) {
      if (!server.standby) noteServer()
      return rows[0]
    }
    await session.query('ROLLBACK')
    if (attempt === BEGIN_ATTEMPTS_MAX) throw new StandbyError()
    await guard.verify(session, hosts.requiresPrimary)
  }
}

/** Whether the role has the rights of another one without SET ROLE; false if there is no such. */
const HAS_OWNER = `SELECT count(*) FILTER (WHERE pg_has_role(oid, 'USAGE')) AS has FROM pg_roles
  WHERE rolname = $1`

/** `usage`: a statement that grants the schema to the role; null if it has it, or none exists. */
const FITNESS = `SELECT current_setting('server_encoding') AS encoding,
  CASE WHEN NOT has_schema_privilege(to_regnamespace(quote_ident($1)), 'USAGE')
  THEN format('GRANT USAGE ON SCHEMA %I TO %I', $1, current_user) END AS usage`

/** Throws `StorageError` if the database cannot hold the tables. */
async function requireFit(
  connect: Sessions['connect'],
  hosts: PostgresHosts,
  { owner, schema }: Pick<DatabaseTarget, 'owner'> & Pick<PostgresPlace, 'schema'>,
): Promise<void> {
  try {
    const client = await connect()
    try {
      const { encoding, usage } = (await client.query(FITNESS, [schema])).rows[0]
      if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}; UTF8 is required`)
      // Before the rights, which the role of the owner gives.
      const isMember = owner === undefined || (await client.query(HAS_OWNER, [owner])).rows[0].has
      if (!isMember)
        throw new Error(
          `its user is no member of the role ${owner} that inherits its rights, which ` +
            'GATEHOOK_DATABASE_OWNER names',
        )
      if (usage !== null) throw new Error(`its user lacks a right: ${usage}`)
    } finally {
      client.release()
    }
  } catch (error) {
    throw cannotBeOpened(hosts, error)
  }
}
