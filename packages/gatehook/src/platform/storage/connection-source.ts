/**
 * Opens connections to the hosts of an address: the first one that is usable, none to a silent one
 * (`server-watch.ts`). Knows whether and how the database is away.
 */
import type { Duplex } from 'node:stream'
import type { Client, ClientBase, ClientConfig } from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type {
  FollowedConnection,
  LostSession,
  ServerAnswer,
  SessionReport,
  WatchedConnection,
} from './followed-connection.ts'
import {
  isOpeningLate,
  isPoolerReport,
  isPoolFull,
  isRefusal,
  isServerFull,
  isStandby,
  isUnresolved,
  markUnopened,
  primaryFaultOf,
} from './postgres-errors.ts'
import { type PostgresHosts, STATEMENT_MS } from './postgres-hosts.ts'
import type { TimelineGuard } from './postgres-timeline.ts'
import {
  isElsewhere,
  isNameFault,
  isOfPooledServer,
  type PrimaryFault,
  primaryFaults,
  SlowServerError,
} from './primary-fault.ts'
import { createServerWatch, type ServerWatch, SilentServerError } from './server-watch.ts'

/** A request tries no further host after this time. */
const TRY_MS = 1_500
/** The time that a server has to answer a probe. */
const ANSWER_MS = 2_000
const REFUSED = 'the database opens no further connection; those that are open serve requests'
const LATE = 'the database answers, and no connection to it opens within 2 s'
/** The time that a silent server has for its first answer, which tells a slow path. */
const PATIENT_MS = 10_000
/** A first answer after this time, of two round trips, comes from a slow path. */
const SLOW_MS = 1_000

export interface ConnectionSource {
  readonly hosts: PostgresHosts
  readonly guard: TimelineGuard
  readonly log: Log
  /**
   * Creates a client of the current host, which is not connected yet. `isLimited`:
   * `statement_timeout` limits its statements.
   */
  createClient(config: ClientConfig, isLimited: boolean): Client
  /** Verifies the server of a new connection (`TimelineGuard.verify`). */
  verify(client: ClientBase): Promise<void>
  /** Notes the process of a transaction behind a pooler. */
  noteTransaction(client: ClientBase, processId: number): void
  /** Opens one connection by `open`, on the current host or on one of the others. */
  tryHosts<T>(open: () => Promise<T>): Promise<T>
  /**
   * Notes the server to which a pooler leads: the error of a standby or of another database;
   * undefined for one that is the primary.
   */
  noteServer(error?: unknown): void
  /** Opens a connection outside the pool; see `createClient`. */
  open(isLimited?: boolean): Promise<Client>
  /** See `Database.hungCount`. */
  hungCount(): number
  /** Calls the listener when connections hung: others of the same time may hang, too. */
  onHung(listener: () => void): void
  /**
   * Why no host answers as a server that the address requires, as the process knows it; undefined
   * while one does. A pooler has the faults of a server here.
   */
  fault(): PrimaryFault | undefined
  /** See `DatabaseServers`. */
  isStarved(): boolean
  stop(): void
}

interface SourceOptions {
  readonly hosts: PostgresHosts
  readonly guard: TimelineGuard
  readonly log: Log
  readonly newClient: (config: ClientConfig) => Client
}

export function createConnectionSource(options: SourceOptions): ConnectionSource {
  const { hosts, guard, log, newClient } = options
  const state = createFaultState(hosts, log)
  const { lose, find, fault, refuse, endRefusal } = state
  const hungListeners: (() => void)[] = []
  /** A pooler opens connections while it has none to the primary. */
  const isBehindPooler = () => hosts.isPooled && (isOfPooledServer(fault()) || isElsewhere(fault()))
  let hungCount = 0
  const onHung = (count: number) => {
    hungCount += count
    for (const listener of hungListeners) listener()
  }
  const watches = watchHosts(options, state, onHung)
  const followed = new WeakMap<ClientBase, FollowedConnection>()
  const createClient: ConnectionSource['createClient'] = (config, isLimited) => {
    const client = newClient({ ...hosts.config(), ...config })
    const connection = client.connection as unknown as WatchedConnection
    followed.set(client, watches[hosts.current()]!.follow(connection, isLimited))
    return client
  }
  const verify: ConnectionSource['verify'] = async (client) => {
    const identify = (processId: number) => followed.get(client)?.identify(processId)
    await guard.verify(client, hosts.requiresPrimary, identify)
    endRefusal()
  }
  const tryHosts = async <T>(open: () => Promise<T>): Promise<T> => {
    const startMs = wallClock.elapsedMs()
    let reason: unknown
    for (let attempt = 1; ; attempt++) {
      const host = hosts.current()
      try {
        const opened = await open()
        if (!isBehindPooler()) find()
        return opened
      } catch (thrown) {
        const { isHeard, isSilent: isHostSilent } = watches[host]!
        const isLate = isOpeningLate(thrown) && isHeard() && !isHostSilent()
        const error = isLate ? new SlowServerError(LATE, { cause: thrown }) : thrown
        const isServed = watches.some(({ hasOpen }) => hasOpen())
        // A full server or pool is not the fault of its host, and serves connections that are open.
        if (isServerFull(error) && !isServed) lose(error)
        if (isPoolFull(error) || isServerFull(error)) throw error
        // A standby beside a primary that is away is as it should be.
        if (attempt === 1 || isStandby(reason)) reason = error
        hosts.moveOn(host)
        const isLast = attempt >= hosts.count || wallClock.elapsedMs() - startMs >= TRY_MS
        if (!isLast) continue
        // No connection was tried, or the watch has cut it: its probes know the fault.
        const isSilent = error instanceof SilentServerError || isHostSilent()
        if (isServed && (isLate || isRefusal(error) || isUnresolved(error))) refuse(error)
        else if (!isSilent) lose(reason)
        else if (!fault()) lose(new SilentServerError())
        markUnopened(error)
        throw error
      }
    }
  }
  return {
    hosts,
    guard,
    log,
    createClient,
    verify,
    noteTransaction: (client, processId) => followed.get(client)?.noteTransaction(processId),
    tryHosts,
    noteServer(error) {
      if (error !== undefined) lose(error)
      else if (isElsewhere(fault())) find()
    },
    open: (isLimited = true) =>
      tryHosts(() => openVerified(createClient({}, isLimited), verify, log)),
    hungCount: () => hungCount,
    onHung: (listener) => void hungListeners.push(listener),
    fault: () => fault() ?? (watches.some(({ isHanging }) => isHanging()) ? 'hung' : undefined),
    isStarved: () => watches.some(({ isStarved }) => isStarved()),
    stop() {
      for (const watch of watches) watch.stop()
    },
  }
}

/** The fault of the database, and the log of its begin and its end. */
function createFaultState({ label: database, isPooled }: PostgresHosts, log: Log) {
  let fault: PrimaryFault | undefined
  let wasUsed = false
  let isRefused = false
  return {
    fault: () => fault,
    /** The open connections serve requests meanwhile, so that the database is not away. */
    refuse(error: unknown) {
      if (!isRefused) log.warn({ err: error, database }, REFUSED)
      isRefused = true
    },
    endRefusal() {
      isRefused = false
    },
    lose(error: unknown) {
      const former = fault
      const next = primaryFaultOf(error)
      // A pooler has passed the reason of the server on, and says later that it has no connection.
      if (isPooled && former === 'library' && next === 'pooler_unserved') return
      fault = next
      const isFirst = former === undefined || (former === 'silent' && fault === 'slow')
      if (wasUsed && isFirst)
        log.warn({ err: error, fault, database }, 'the database does not answer')
    },
    find() {
      if (fault && wasUsed) log.info({ database }, 'the database answers again')
      wasUsed = true
      fault = undefined
    },
  }
}

type FaultState = ReturnType<typeof createFaultState>

/** Creates the watches of all hosts, in their order. */
function watchHosts(
  { hosts, newClient, log }: SourceOptions,
  { lose, find, fault }: FaultState,
  onHung: (count: number) => void,
): readonly ServerWatch[] {
  const { isPooled } = hosts
  const watches = hosts.all.map((config, host) =>
    createServerWatch({
      isPooled,
      probe: (processIds) =>
        probeServer(newClient({ ...config, query_timeout: ANSWER_MS }), {
          processIds,
          isPooled,
          onFault(error) {
            // The pooler itself answers now, or no longer; or the name of the host has an address.
            const isNews = isPooled || isNameFault(fault()) || isUnresolved(error)
            if (isNews && watches.every(({ isSilent }) => isSilent())) lose(error)
          },
        }),
      endSessions: (lost) => {
        void endSessions(newClient({ ...config, query_timeout: ANSWER_MS }), lost)
      },
      onHung(connections) {
        log.warn({ connections, database: hosts.label }, primaryFaults.hung)
        onHung(connections)
      },
      onSilent() {
        hosts.moveOn(host)
        const areSilent = () => watches.every(({ isSilent }) => isSilent())
        if (areSilent()) {
          if (isNameFault(fault())) return // no connection was tried: the probes know more
          lose(new SilentServerError())
          void measureAnswer(newClient({ ...config, connectionTimeoutMillis: PATIENT_MS })).then(
            (ms) => {
              if (!areSilent() || ms === undefined || ms < SLOW_MS) return
              lose(new SlowServerError(`the first answer of the database took ${ms} ms`))
            },
          )
        } else
          log.warn({ host }, 'a host of the database has not answered for 2 s; others are used')
      },
      onReturn: find,
      onAnswer() {
        if (isPooled && isOfPooledServer(fault())) find()
      },
      onError(error) {
        if (isPooled && isPoolerReport(error)) lose(error)
      },
    }),
  )
  return watches
}

async function openVerified(
  client: Client,
  verify: ConnectionSource['verify'],
  log: Log,
): Promise<Client> {
  client.on('error', (error) => logBrokenConnection(log, error))
  await client.connect()
  try {
    await verify(client)
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return client
}

export const logBrokenConnection = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a connection to the database broke')

/**
 * Reports what the server does for sessions. A session that waits for its client has no request. A
 * primary without a session has lost it; another standby of the address may have it.
 */
const READ_SESSIONS = `SELECT p.process, a.state_change::text AS since,
    CASE WHEN a.pid IS NULL THEN CASE WHEN p.process IS NULL OR pg_is_in_recovery() THEN NULL
      ELSE 'absent' END WHEN a.wait_event_type = 'Client' THEN 'waiting' ELSE 'busy' END AS state,
    extract(epoch FROM clock_timestamp() - a.query_start)::float8 * 1000 AS busy_ms,
    s.setting::float8 AS limit_ms
  FROM pg_settings s LEFT JOIN unnest($1::int[]) p (process) ON true
    LEFT JOIN pg_stat_activity a ON a.pid = p.process
  WHERE s.name = 'statement_timeout'`

/** Returns the time until the first bytes of a server; undefined if it sends none. */
async function measureAnswer(client: Client): Promise<number | undefined> {
  const stream = client.connection.stream as Duplex & { unref(): void }
  stream.unref()
  client.on('error', () => undefined)
  const startMs = wallClock.elapsedMs()
  const answered = Promise.withResolvers<number | undefined>()
  stream.once('data', () => answered.resolve(Math.round(wallClock.elapsedMs() - startMs)))
  client.connect().catch(() => answered.resolve(undefined))
  return answered.promise.finally(() => stream.destroy())
}

interface ProbeOptions {
  /** The processes of the sessions to report. */
  readonly processIds: readonly number[]
  readonly isPooled: boolean
  readonly onFault: (error: unknown) => void
}

/**
 * Returns the answer of a server. Its refusal of a user or a connection is an answer too, and so is
 * a certificate that the node does not trust. The report of a pooler that lacks the server is none,
 * and neither is the end of the time: `onFault` receives them.
 */
async function probeServer(
  client: Client,
  { processIds, isPooled, onFault }: ProbeOptions,
): Promise<ServerAnswer | undefined> {
  client.on('error', () => undefined)
  try {
    await client.connect()
    const answer = answerOf((await client.query(READ_SESSIONS, [processIds])).rows)
    // Behind a pooler, transactions set it.
    return isPooled ? { ...answer, limitMs: STATEMENT_MS } : answer
  } catch (error) {
    if (isRefusal(error)) return {}
    onFault(error)
    return undefined
  } finally {
    client.connection.stream.destroy()
  }
}

/** Ends the sessions that still wait for what the network has lost. */
const END_SESSIONS = `SELECT pg_terminate_backend(a.pid)
  FROM unnest($1::int[], $2::text[]) p (process, since)
    JOIN pg_stat_activity a ON a.pid = p.process AND a.state_change::text = p.since`

/** Ends sessions, which otherwise keep their locks for seconds (`postgres-hosts.ts`). */
async function endSessions(client: Client, lost: readonly LostSession[]): Promise<void> {
  client.on('error', () => undefined)
  try {
    await client.connect()
    const processIds = lost.map(({ processId }) => processId)
    await client.query(END_SESSIONS, [processIds, lost.map(({ since }) => since)])
  } catch {
    // The server ends them later.
  } finally {
    client.connection.stream.destroy()
  }
}

interface ReportRow {
  readonly process: number
  readonly since: string | null
  /** Null: not known; also in the one row of a probe without sessions. */
  readonly state: SessionReport['state'] | null
  readonly busy_ms: number | null
  readonly limit_ms: number
}

const answerOf = (rows: readonly ReportRow[]): ServerAnswer => ({
  sessions: new Map(
    rows.flatMap(({ process, state, since, busy_ms }) =>
      state ? [[process, { state, since: since ?? '', busyMs: busy_ms ?? 0 }]] : [],
    ),
  ),
  limitMs: rows[0]!.limit_ms,
})
