/**
 * Compares the servers of all addresses of the configuration: their timelines, and their databases.
 */
import type { Client, ClientConfig } from 'pg'
import type { DatabaseIdentity } from '../../kernel/database-target.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { primaryFaultOf } from './postgres-errors.ts'
import type { TimelineGuard } from './postgres-timeline.ts'
import type { PrimaryFault } from './primary-fault.ts'

/** The time that a server has for each step of the comparison. */
const ANSWER_MS = 1_000
/** Comparisons without an answer after which a fault lasts. */
const LASTING = 5

/**
 * The time between two comparisons of the servers that the configuration names: for so long, a node
 * may write on a primary beside the standby that was promoted (§18.2).
 */
const COMPARE_MS = 1_000

export interface ServerComparison {
  /**
   * Reads the timelines and databases of all servers. A server that is down is left out. `isFresh`:
   * by new sessions, which a server may reject while it serves those that are open.
   */
  compare(isFresh: boolean): Promise<void>
  /** Names the addresses that lead to another database than that of the process. */
  misled(): string | undefined
  /** Whether one of some servers has another database. */
  isMisled(configs: readonly ClientConfig[]): boolean
  /**
   * Returns the fault of the primary of some servers as the last comparison met it; null if one of
   * them answers as the primary.
   */
  faultOf(configs: readonly ClientConfig[]): PrimaryFault | null | undefined
  /** Returns the same once some comparisons in a row have met a fault; else undefined. */
  lastingFaultOf(configs: readonly ClientConfig[]): PrimaryFault | undefined
  close(): void
}

/** The servers of an address. */
export interface ComparedHosts {
  readonly label: string
  readonly all: readonly ClientConfig[]
}

/**
 * Compares the servers that the configuration names. A former primary that has returned accepts
 * connections, and a process that has used no other server could not recognize it. Connections stay
 * open between two comparisons.
 */
export function createServerComparison(
  addresses: readonly ComparedHosts[],
  guard: TimelineGuard,
  newClient: (config: ClientConfig) => Client,
): ServerComparison {
  const configs = addresses.flatMap(({ all }) => all)
  /** The databases, as the last answers of the servers had them. */
  const databases = new Map<ClientConfig, DatabaseIdentity>()
  const clients = new Map<ClientConfig, Client>()
  const faults = new Map<ClientConfig, PrimaryFault | null>()
  const failures = new Map<ClientConfig, number>()
  const drop = (config: ClientConfig) => {
    clients.get(config)?.connection.stream.destroy()
    clients.delete(config)
  }
  const open = async (config: ClientConfig) => {
    const timeouts = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS }
    const client = newClient({ ...config, ...timeouts })
    clients.set(config, client)
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const note = async (config: ClientConfig, isFresh: boolean) => {
    if (isFresh) drop(config)
    try {
      const server = await guard.noteOther(clients.get(config) ?? (await open(config)))
      databases.set(config, server)
      faults.set(config, server.standby ? 'standby' : null)
      failures.set(config, 0)
    } catch (error) {
      // The connection in use reports why its server cannot be used.
      faults.set(config, primaryFaultOf(error))
      failures.set(config, (failures.get(config) ?? 0) + 1)
      drop(config)
    }
  }
  const { origin } = guard
  const faultOf: ServerComparison['faultOf'] = (servers) => {
    const current = servers.map((config) => faults.get(config))
    if (current.includes(null)) return null
    return current.find((fault) => fault !== 'standby') ?? current[0]
  }
  return {
    misled() {
      const sentences = addresses.flatMap(({ label, all }) =>
        all.flatMap((config) => origin.describe(label, databases.get(config)) ?? []),
      )
      return sentences.length > 0 ? [...new Set(sentences)].join('; ') : undefined
    },
    isMisled: (servers) =>
      servers.some((config) => origin.describe('', databases.get(config)) !== undefined),
    compare: async (isFresh) =>
      void (await Promise.all(configs.map((config) => note(config, isFresh)))),
    faultOf,
    lastingFaultOf: (servers) =>
      servers.every((config) => (failures.get(config) ?? 0) >= LASTING)
        ? (faultOf(servers) ?? undefined)
        : undefined,
    close() {
      for (const config of configs) drop(config)
    },
  }
}

interface ComparingOptions {
  /** Whether a pooler serves no session, for a reason that new direct ones may meet. */
  readonly hasFault: () => boolean
  readonly onCompared: () => void
  readonly log: Log
}

/** Compares the servers in an interval. Returns the function that ends it. */
export function startComparing(
  { compare, close }: ServerComparison,
  { hasFault, onCompared, log }: ComparingOptions,
): () => Promise<void> {
  const stop = startInterval({
    intervalMs: COMPARE_MS,
    run: () => compare(hasFault()).then(onCompared),
    log,
    failure: 'the timelines of the servers could not be compared',
  })
  return () => stop().then(close)
}
