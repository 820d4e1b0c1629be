/**
 * Notices the promotion of a standby. PostgreSQL then begins a new timeline, whose history may lack
 * the last commits of the old primary. Before a transaction runs on the new timeline, every
 * sequence skips ahead, so that no id of a lost row is assigned again. Refuses servers of a former
 * timeline, and other databases (`database-origin.ts`).
 */
import type { ClientBase as Session } from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import type { DatabaseIdentity } from '../../kernel/database-target.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Promotion, Statement, Tx } from './database.ts'
import {
  createOrigin,
  type DatabaseOrigin,
  OF_CLUSTER,
  OF_DATABASE,
  ofTables,
  refuseReplaced,
} from './database-origin.ts'
import { ID_SKIP, skipSequences } from './id-skip.ts'
import { StandbyError } from './postgres-errors.ts'
import { LOCK_MIGRATIONS, type PostgresPlace } from './postgres-place.ts'
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
const OF_TIMELINE = `${TIMELINE} AS timeline`
const NOTHING = 'NULL AS timeline'
/** Columns of a server, those of most servers first: some lack a function, or its right. */
const FORMS = [
  [OF_TIMELINE, OF_CLUSTER],
  [OF_TIMELINE, 'NULL AS system'],
  [NOTHING, OF_CLUSTER],
  [NOTHING, 'NULL AS system'],
].map((columns) => [OF_DATABASE, ...columns].join(', '))
/** For so long, a node may write into tables that a dump has replaced. */
const TABLES_MS = 1_000
const OF_ROLE = 'pg_is_in_recovery() AS standby, pg_backend_pid() AS process'
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

/** The report of a server on itself and its database. */
export interface ServerRow extends DatabaseIdentity {
  readonly standby: number | boolean
  readonly process: number
  /** Null on a standby, and where the server does not report it. */
  readonly timeline: number | null
}

export interface TimelineGuard {
  /** The database in which the process began. */
  readonly origin: DatabaseOrigin
  /**
   * Verifies a new connection before its first transaction. Throws `StandbyError` for a standby
   * that the address excludes, for a former primary, and for another database. `onProcess` receives
   * the process of the session first.
   */
  verify(
    client: Session,
    requiresPrimary: boolean,
    onProcess?: (processId: number) => void,
  ): Promise<void>
  /**
   * Excludes former primaries: those whose timeline is older than that of this server. Returns the
   * report of the server.
   */
  noteOther(client: Session): Promise<ServerRow>
  /** Whether open connections may belong to a former primary, so that `verify` has to decide. */
  isSuspect(): boolean
  /** A statement that returns the server of a transaction. */
  query(): string
  /** Statements for the begin of a transaction, at most once a second: the tables are the same. */
  requireTables(): readonly string[]
  /** Whether a transaction may run on this server without `verify`. */
  isCurrent(server: ServerRow): boolean
  onPromotion(listener: (promotion: Promotion) => void): void
}

interface GuardOptions {
  /** The schema of the tables, which a session behind a pooler does not have in its path. */
  readonly place: PostgresPlace
  /** The database in which another part of the process began. */
  readonly origin?: DatabaseIdentity | undefined
}

export function createTimelineGuard(
  log: Log,
  { place, origin: given }: GuardOptions,
): TimelineGuard {
  const listeners: ((promotion: Promotion) => void)[] = []
  const origin = createOrigin(given)
  let current: number | undefined
  /** The newest timeline of any primary, from which no connection may be in use. */
  let newest = 0
  /** The newest timeline of other servers by cluster, and the cluster of the server in use. */
  const others = new Map<string | null, number>()
  let system: string | null | undefined
  let form = 0
  let lastPromotion: Promotion | undefined
  /** Listeners use the database, whose connection is not open yet. */
  const announce = (listener: (promotion: Promotion) => void, promotion: Promotion) =>
    setImmediate(listener, promotion)
  const noticePromotion = (promotion: Promotion) => {
    lastPromotion = promotion
    log.warn(promotion, 'a standby of the database was promoted; ids skip ahead')
    for (const listener of listeners) announce(listener, promotion)
  }
  const query = () => `SELECT ${OF_ROLE}, ${ofTables(place.schema)}, ${FORMS[form]}`
  let tablesMs = Number.NEGATIVE_INFINITY
  const readServer = async (client: Session): Promise<ServerRow> => {
    for (;;) {
      const used = form
      try {
        return (await client.query(query())).rows[0]
      } catch (error) {
        if (!NOT_AVAILABLE.test(codeOf(error)) || used + 1 === FORMS.length) throw error
        form = Math.max(form, used + 1)
      }
    }
  }
  const otherTimeline = () => (system === undefined ? 0 : (others.get(system) ?? 0))
  const isSuspect = () =>
    others.size > 0 && (system === undefined || otherTimeline() > (current ?? 0))
  return {
    origin,
    isSuspect,
    async verify(client, requiresPrimary, onProcess) {
      const server = await readServer(client)
      const { standby, timeline } = server
      onProcess?.(server.process)
      if (standby && requiresPrimary) throw new StandbyError()
      origin.require(server)
      if (standby || timeline === null) return
      system = server.system
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
      const server = await readServer(client)
      const { timeline, system: cluster } = server
      if (timeline !== null) others.set(cluster, Math.max(timeline, others.get(cluster) ?? 0))
      return server
    },
    query,
    requireTables() {
      const table = origin.current()?.table
      const now = wallClock.elapsedMs()
      if (!table || now - tablesMs < TABLES_MS) return []
      tablesMs = now
      return [refuseReplaced(place.schema, table)]
    },
    isCurrent(server) {
      if (!origin.isSame(server)) return false
      const { timeline } = server
      return timeline === null || (timeline === current && !isSuspect())
    },
    onPromotion(listener) {
      listeners.push(listener)
      if (lastPromotion) announce(listener, lastPromotion)
    },
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
