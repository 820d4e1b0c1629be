/**
 * Notices the promotion of a standby. PostgreSQL then begins a new timeline, whose history may lack
 * the last commits of the old primary. Before a transaction runs on the new timeline, every
 * sequence skips ahead, so that no id of a lost row is assigned again.
 */
import type { Client, ClientConfig, ClientBase as Session } from 'pg'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Promotion, Statement, Tx } from './database.ts'
import { ID_SKIP, skipSequences } from './id-skip.ts'
import { primaryFaultOf, StandbyError } from './postgres-errors.ts'
import { LOCK_MIGRATIONS, type PostgresPlace } from './postgres-place.ts'
import type { PrimaryFault } from './primary-fault.ts'
import { replaceEpoch } from './transaction-epoch.ts'

/** The timeline of an installation: `system` identifies the cluster, of which copies share it. */
interface StoredTimeline {
  readonly system: string
  readonly timeline: number
}

/**
 * SQL for the timeline, the first eight digits of a log file's name; null on a standby. Services
 * that are compatible with PostgreSQL may lack the functions; then no promotion is noticed.
 */
const TIMELINE = `CASE WHEN pg_is_in_recovery() THEN NULL
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END`
const READ_ROLE = 'SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS process'
const READ_SERVER = `${READ_ROLE}, ${TIMELINE} AS timeline`
const READ_SYSTEM = 'SELECT system_identifier::text AS system FROM pg_control_system()'
/** A function stores the timeline, because tables move to other databases (`move/tables.ts`). */
const STORED = 'gh_timeline'
const readStoredBy = (name: string) => `SELECT ${name}() AS value,
  system_identifier::text AS system FROM pg_control_system()`
/** No schema, no function, no permission, no value of a sequence. */
const NOT_AVAILABLE = /^(3F000|42883|42501|0A000|55000)$/

const codeOf = (error: unknown): string => String((error as { code?: unknown })?.code ?? '')

/** The server has an older timeline than one that this process has used. */
class OldPrimaryError extends StandbyError {
  constructor(timeline: number, current: number) {
    super(
      `the server is a former primary: it has timeline ${timeline}, and the installation ` +
        `continued on timeline ${current}`,
    )
  }
}

export interface TimelineGuard {
  /**
   * Verifies a new connection before its first transaction. Throws `StandbyError` for a standby
   * that the address excludes, and for a former primary. `onProcess` receives the process of the
   * session first.
   */
  verify(
    client: Session,
    requiresPrimary: boolean,
    onProcess?: (processId: number) => void,
  ): Promise<void>
  /**
   * Excludes former primaries: those whose timeline is older than that of this server. Returns
   * whether the server is a standby.
   */
  noteOther(client: Session): Promise<boolean>
  /** Whether open connections may belong to a former primary, so that `verify` has to decide. */
  isSuspect(): boolean
  /** A statement that returns the timeline; empty if the server does not report it. */
  query(): string
  /** Whether a transaction may run on this timeline without `verify`; null: on a standby. */
  isCurrent(timeline: number | null): boolean
  onPromotion(listener: (promotion: Promotion) => void): void
}

/** `place`: the schema of the tables, which a session behind a pooler does not have in its path. */
export function createTimelineGuard(log: Log, place: PostgresPlace): TimelineGuard {
  const listeners: ((promotion: Promotion) => void)[] = []
  let current: number | undefined
  /** The newest timeline of any primary, from which no connection may be in use. */
  let newest = 0
  /** The newest timeline of other servers by cluster, and the cluster of the server in use. */
  const others = new Map<string, number>()
  let system: string | undefined
  let isAvailable = true
  let lastPromotion: Promotion | undefined
  /** Listeners use the database, whose connection is not open yet. */
  const announce = (listener: (promotion: Promotion) => void, promotion: Promotion) =>
    setImmediate(listener, promotion)
  const noticePromotion = (promotion: Promotion) => {
    lastPromotion = promotion
    log.warn(promotion, 'a standby of the database was promoted; ids skip ahead')
    for (const listener of listeners) announce(listener, promotion)
  }
  const readServer = async (client: Session) => {
    try {
      if (isAvailable) return (await client.query(READ_SERVER)).rows[0]
    } catch (error) {
      if (!NOT_AVAILABLE.test(codeOf(error))) throw error
      isAvailable = false
    }
    return (await client.query(READ_ROLE)).rows[0]
  }
  const otherTimeline = () => (system === undefined ? 0 : (others.get(system) ?? 0))
  const isSuspect = () =>
    others.size > 0 && (system === undefined || otherTimeline() > (current ?? 0))
  return {
    isSuspect,
    async verify(client, requiresPrimary, onProcess) {
      const { standby, timeline, process } = await readServer(client)
      onProcess?.(process)
      if (standby && requiresPrimary) throw new StandbyError()
      if (standby || timeline === undefined) return
      if (others.size > 0) system = await readSystem(client)
      newest = Math.max(newest, current ?? 0, otherTimeline())
      if (timeline < newest) throw new OldPrimaryError(timeline, newest)
      if (timeline === current) return
      const stored = await readStored(client, place)
      const isBehind = stored !== undefined && stored < timeline
      if (isBehind) await skipIds(client, timeline, place)
      const from = isBehind ? stored : current
      // Another connection may have noticed it meanwhile.
      const isNew = from !== undefined && lastPromotion?.to !== timeline
      current = Math.max(current ?? 0, timeline)
      if (isNew) noticePromotion({ from, to: timeline })
    },
    async noteOther(client) {
      const { standby, timeline } = await readServer(client)
      if (standby || timeline === undefined) return standby === 1
      const other = await readSystem(client)
      others.set(other, Math.max(timeline, others.get(other) ?? 0))
      return false
    },
    query: () => (isAvailable ? `SELECT ${TIMELINE} AS timeline` : ''),
    isCurrent: (timeline) => timeline === null || (timeline === current && !isSuspect()),
    onPromotion(listener) {
      listeners.push(listener)
      if (lastPromotion) announce(listener, lastPromotion)
    },
  }
}

/** The time that a server has for each step of the comparison. */
const ANSWER_MS = 1_000

export interface ServerComparison {
  /** Reads the timelines of all servers. A server that is down is left out. */
  compare(): Promise<void>
  /**
   * Returns the fault of the primary of some servers as the last comparison met it; null if one of
   * them answers as the primary.
   */
  faultOf(configs: readonly ClientConfig[]): PrimaryFault | null | undefined
  close(): void
}

/**
 * Compares the servers that the configuration names. A former primary that has returned accepts
 * connections, and a process that has used no other server could not recognize it. Connections stay
 * open between two comparisons.
 */
export function createServerComparison(
  configs: readonly ClientConfig[],
  guard: TimelineGuard,
  newClient: (config: ClientConfig) => Client,
): ServerComparison {
  const clients = new Map<ClientConfig, Client>()
  const faults = new Map<ClientConfig, PrimaryFault | null>()
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
  const note = async (config: ClientConfig) => {
    try {
      const isStandby = await guard.noteOther(clients.get(config) ?? (await open(config)))
      faults.set(config, isStandby ? 'standby' : null)
    } catch (error) {
      // The connection in use reports why its server cannot be used.
      faults.set(config, primaryFaultOf(error))
      drop(config)
    }
  }
  return {
    compare: async () => void (await Promise.all(configs.map(note))),
    faultOf(servers) {
      const current = servers.map((config) => faults.get(config))
      if (current.includes(null)) return null
      return current.find((fault) => fault !== 'standby') ?? current[0]
    },
    close() {
      for (const config of configs) drop(config)
    },
  }
}

/** Returns the identifier of the cluster, which its copies share; empty if it is not readable. */
async function readSystem(client: Session): Promise<string> {
  try {
    return (await client.query(READ_SYSTEM)).rows[0].system
  } catch (error) {
    if (!NOT_AVAILABLE.test(codeOf(error))) throw error
    return ''
  }
}

/** Returns the stored timeline; undefined for none, and for that of another cluster. */
async function readStored(client: Session, place: PostgresPlace): Promise<number | undefined> {
  const result = await client.query(readStoredBy(place.qualify(STORED))).catch((error) => {
    if (NOT_AVAILABLE.test(codeOf(error))) return undefined
    throw error
  })
  const row = result?.rows[0]
  if (!row) return undefined
  const stored = JSON.parse(row.value) as StoredTimeline
  return stored.system === row.system ? stored.timeline : undefined
}

/**
 * Advances every sequence and the epoch of transaction ids (`transaction-epoch.ts`), and stores the
 * timeline. The first node does so; the others wait for it.
 */
async function skipIds(client: Session, timeline: number, place: PostgresPlace): Promise<void> {
  await client.query('BEGIN')
  try {
    const settings = [
      `SET LOCAL search_path = '${place.schema}'`,
      // A promoted server may have no standby yet, and reads need this transaction, too.
      'SET LOCAL synchronous_commit = local',
      ...place.assumeOwner('LOCAL'),
    ]
    for (const setting of settings) await client.query(setting)
    await client.query(LOCK_MIGRATIONS)
    // Opening a table lets the session notice the function that another one has replaced meanwhile.
    await client.query('SELECT 1 FROM pg_proc LIMIT 1')
    const stored = await readStored(client, place)
    if (stored !== undefined && stored < timeline) {
      await client.query(skipSequences(ID_SKIP))
      const { rows } = await client.query('SELECT gh_txid_epoch() AS epoch')
      await client.query(replaceEpoch(Number(rows[0].epoch) + ID_SKIP))
      await client.query(replaceStored((await client.query(DESCRIBE)).rows[0]))
    }
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

const DESCRIBE = `SELECT system_identifier::text AS system, ${TIMELINE} AS timeline
  FROM pg_control_system()`

const replaceStored = ({ system, timeline }: StoredTimeline): string =>
  `CREATE OR REPLACE FUNCTION ${STORED}() RETURNS TEXT LANGUAGE sql STABLE
    AS $$SELECT '${JSON.stringify({ system, timeline })}'::text$$`

const ofPostgres = (text: string): Statement => ({ sql: '', text, values: [] })

/** Stores the timeline of a new installation, or of one that was restored into another cluster. */
export async function storeTimeline(tx: Tx, ddl: (text: string) => Promise<void>): Promise<void> {
  try {
    await tx.attempt(async () => {
      const current = (await tx.get(ofPostgres(DESCRIBE))) as StoredTimeline
      const row = await tx.get(ofPostgres(`SELECT to_regproc('${STORED}') IS NOT NULL AS exists`))
      const stored = row!.exists && (await tx.get(ofPostgres(readStoredBy(STORED))))
      const system = stored && (JSON.parse(stored.value) as StoredTimeline).system
      if (system !== current.system) await ddl(replaceStored(current))
    })
  } catch (error) {
    if (!NOT_AVAILABLE.test(codeOf(error instanceof Failure ? error.detail : error))) throw error
  }
}
