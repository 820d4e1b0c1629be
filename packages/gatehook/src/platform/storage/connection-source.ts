/**
 * Opens connections to the hosts of an address: the first one that is usable, none to a silent one
 * (`server-watch.ts`). Knows whether and how the database is away.
 */
import type { Client, ClientConfig } from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import {
  hasState,
  isConnectionLost,
  isPoolerReport,
  isPoolFull,
  isServerFull,
  isTlsFailure,
  markUnopened,
  primaryFaultOf,
} from './postgres-errors.ts'
import type { PostgresHosts } from './postgres-hosts.ts'
import type { TimelineGuard } from './postgres-timeline.ts'
import type { PrimaryFault } from './primary-fault.ts'
import { createServerWatch, SilentServerError, type WatchedConnection } from './server-watch.ts'

/** A request tries no further host after this time. */
const TRY_MS = 1_500
/** The time that a server has to answer a probe. */
const ANSWER_MS = 2_000

export interface ConnectionSource {
  readonly hosts: PostgresHosts
  readonly guard: TimelineGuard
  readonly log: Log
  /** Creates a client of the current host, which is not connected yet. */
  createClient(config?: ClientConfig): Client
  /** Opens one connection by `open`, on the current host or on one of the others. */
  tryHosts<T>(open: () => Promise<T>): Promise<T>
  /**
   * Notes the server to which a pooler leads: the error of a standby; undefined for one that is the
   * primary.
   */
  noteServer(error?: unknown): void
  /** Opens a connection outside the pool. */
  open(): Promise<Client>
  /**
   * Why no host answers as a server that the address requires, as the process knows it; undefined
   * while one does. A pooler has the faults of a server here.
   */
  fault(): PrimaryFault | undefined
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
  let fault: PrimaryFault | undefined
  let wasUsed = false
  const lose = (error: unknown) => {
    const isFirst = fault === undefined
    fault = primaryFaultOf(error)
    if (wasUsed && isFirst)
      log.warn({ err: error, fault, database: hosts.label }, 'the database does not answer')
  }
  const find = () => {
    if (fault && wasUsed) log.info({ database: hosts.label }, 'the database answers again')
    wasUsed = true
    fault = undefined
  }
  /** A pooler opens connections while it has none to the primary. */
  const isBehindPooler = () =>
    fault === 'pooler_unserved' || (hosts.isPooled && fault === 'standby')
  const watches = hosts.all.map((config, host) =>
    createServerWatch({
      probe: () =>
        answers(newClient({ ...config, query_timeout: ANSWER_MS }), (error) => {
          // The pooler itself answers now, or no longer.
          if (hosts.isPooled && watches.every(({ isSilent }) => isSilent())) lose(error)
        }),
      onSilent() {
        hosts.moveOn(host)
        if (watches.every(({ isSilent }) => isSilent())) lose(new SilentServerError())
        else log.warn({ host }, 'a host of the database has not answered for 2 s; others are used')
      },
      onReturn: find,
      onAnswer() {
        if (fault === 'pooler_unserved') find()
      },
      onError(error) {
        if (hosts.isPooled && isPoolerReport(error)) lose(error)
      },
    }),
  )
  const createClient = (config: ClientConfig = {}) => {
    const client = newClient({ ...hosts.config(), ...config })
    watches[hosts.current()]!.follow(client.connection as unknown as WatchedConnection)
    return client
  }
  const tryHosts = async <T>(open: () => Promise<T>): Promise<T> => {
    const startMs = wallClock.elapsedMs()
    for (let attempt = 1; ; attempt++) {
      const host = hosts.current()
      try {
        const opened = await open()
        if (!isBehindPooler()) find()
        return opened
      } catch (error) {
        // A full server or pool is not the fault of its host, and serves connections that are open.
        if (isServerFull(error) && !watches.some(({ hasOpen }) => hasOpen())) lose(error)
        if (isPoolFull(error) || isServerFull(error)) throw error
        hosts.moveOn(host)
        const isLast = attempt >= hosts.count || wallClock.elapsedMs() - startMs >= TRY_MS
        if (!isLast) continue
        // No connection was tried, or the watch has cut it: its probes know the fault.
        const isSilent = error instanceof SilentServerError || watches[host]!.isSilent()
        if (!isSilent) lose(error)
        else if (!fault) lose(new SilentServerError())
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
    tryHosts,
    noteServer(error) {
      if (error !== undefined) lose(error)
      else if (fault === 'standby') find()
    },
    open: () => tryHosts(() => openVerified(createClient(), options)),
    fault: () => fault,
    stop() {
      for (const watch of watches) watch.stop()
    },
  }
}

async function openVerified(client: Client, { hosts, guard, log }: SourceOptions): Promise<Client> {
  client.on('error', (error) => logBrokenConnection(log, error))
  await client.connect()
  try {
    await guard.verify(client, hosts.requiresPrimary)
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return client
}

export const logBrokenConnection = (log: Log, error: Error): void =>
  log.warn({ err: error }, 'a connection to the database broke')

/**
 * Whether a server answers a statement. Its refusal of a user or a connection is an answer too, and
 * so is a certificate that the node does not trust. The
 * report of a pooler that lacks the server is none, and neither is the end of the time: `onFault`
 * receives them.
 */
async function answers(client: Client, onFault: (error: unknown) => void): Promise<boolean> {
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch (error) {
    const isAnswer = (hasState(error) && !isConnectionLost(error)) || isTlsFailure(error)
    if (!isAnswer) onFault(error)
    return isAnswer
  } finally {
    client.connection.stream.destroy()
  }
}
