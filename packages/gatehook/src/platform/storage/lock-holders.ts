/**
 * The sessions of PostgreSQL that hold locks for which statements of this database wait (§18.1),
 * and the one whose transaction holds back the event streams of all customers: their program, role
 * and state, without values of their statements.
 */
import type { Database, Value } from './database.ts'
import { describeFileLock, type FileLock } from './file-lock-holder.ts'
import { isMember } from './postgres-horizon.ts'
import { IDLE_IN_TRANSACTION_MS } from './postgres-hosts.ts'
import { nodeOfSession, sessionName } from './session-name.ts'
import { raw, type Sql, sql } from './sql.ts'

/** A session, whose state the server hides in part without `pg_read_all_stats`, or a process. */
export interface LockHolder {
  /** 0: a prepared transaction; of a file: a process that the machine does not show. */
  readonly pid: number
  /** Whether it is a process of the machine, which holds the lock of a SQLite file. */
  readonly isProcess?: boolean
  readonly application: string
  readonly user: string | null
  /** `active`, `idle in transaction`. */
  readonly state: string | null
  /** Whether its commit waits for a synchronous standby. */
  readonly awaitsStandby: boolean
  /** The age of its transaction. */
  readonly ageS: number | null
  /** The first word of its last statement: `UPDATE`. */
  readonly statement: string | null
  /** Tables that it has locked against writes, or whose rows it has locked or changed. */
  readonly tables: readonly string[]
  /** Statements that wait for it, of the longest ones. */
  readonly waiting: number
  /** Whether events of later transactions wait for its end in streams (`postgres-horizon.ts`). */
  readonly holdsStreams: boolean
  /**
   * The session that waits for it, and for which others wait, with most of these; or that waits for
   * a table alone, for which each next request waits.
   */
  readonly queued: QueuedSession | null
}

/** A session that waits for a table alone: all others of the table wait behind it, or will. */
interface QueuedSession {
  readonly pid: number
  readonly application: string
  readonly statement: string | null
  readonly table: string | null
  readonly waiting: number
}

/** Statements that wait less are not counted: locks are ordinary. */
const WAIT_S = 1
/** The statements that wait longest, the sessions that they wait for, and their tables. */
const WAITING_MAX = 20
const HOLDERS_MAX = 5
const TABLES_MAX = 5
/** A transaction that holds streams back for less is ordinary. */
const STREAMS_S = 30

/** SQL of the first word of the last statement of a session, which may hold values. */
const firstWordOf = (session: string): string =>
  `upper(substring(${session}.query FROM '^\\s*([A-Za-z]+)'))`

/** SQL of the oldest transaction of this database that may write events. */
const oldestSql = (afterS: number): string => `SELECT pid FROM (
    SELECT pid, backend_xid AS transaction, xact_start AS since FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xid IS NOT NULL AND ${isMember('usesysid')}
    UNION ALL SELECT 0, transaction, prepared FROM pg_prepared_xacts
      WHERE database = current_database() AND ${isMember('owner')}) AS open
  WHERE since < clock_timestamp() - interval '${afterS} s' ORDER BY age(transaction) DESC LIMIT 1`

/** Sessions of nodes hold the lock of a row in turn, while many change it: none is at fault. */
const IS_LASTING = `(COALESCE(a.application_name, '') NOT LIKE '${sessionName('%')}'
      OR a.state_change < clock_timestamp() - interval '${WAIT_S} s')`

/** SQL of `QueuedSession` of the session `holder`, from `queue`. */
const QUEUED = `(SELECT to_json(q) FROM (SELECT b.pid,
    COALESCE(b.application_name, '') AS application, ${firstWordOf('b')} AS statement,
    c.relname::text AS "table",
    (SELECT count(DISTINCT o.waiter)::int FROM queue o WHERE o.pid = b.pid) AS waiting
  FROM queue JOIN pg_locks l ON l.pid = queue.waiter AND NOT l.granted AND l.locktype = 'relation'
    JOIN pg_stat_activity b ON b.pid = queue.waiter LEFT JOIN pg_class c ON c.oid = l.relation
  WHERE queue.pid = holder.pid AND (l.mode = 'AccessExclusiveLock'
    OR EXISTS (SELECT FROM queue o WHERE o.pid = b.pid))
  ORDER BY waiting DESC LIMIT 1) AS q)`

/**
 * SQL of the holders as JSON; null without any, and on a standby. A holder waits for no lock.
 * Migrations of nodes, which take turns, and builds of indexes delay no request.
 */
const holdersSql = (streamsS: number): string => `CASE WHEN pg_is_in_recovery() THEN NULL ELSE (
  WITH RECURSIVE waiting AS MATERIALIZED (SELECT pid, pg_blocking_pids(pid) AS blockers
    FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND wait_event NOT IN ('advisory', 'virtualxid')
      AND query_start < clock_timestamp() - interval '${WAIT_S} s'
    ORDER BY query_start LIMIT ${WAITING_MAX}),
  queue(waiter, pid) AS (SELECT pid, unnest(blockers) FROM waiting
    UNION SELECT waiter, unnest(blockers) FROM queue JOIN waiting USING (pid)),
  oldest AS (${oldestSql(streamsS)}),
  holder AS (SELECT pid, sum(waits)::int AS waiting, bool_or(waits = 0) AS "holdsStreams"
    FROM (SELECT pid, 1 AS waits FROM queue UNION ALL SELECT pid, 0 FROM oldest) AS sessions
    GROUP BY pid)
  SELECT json_agg(h)::text FROM (SELECT holder.pid, COALESCE(a.application_name, '') AS application,
      a.usename AS "user", a.state, COALESCE(a.wait_event = 'SyncRep', FALSE) AS "awaitsStandby",
      floor(extract(epoch FROM clock_timestamp() - a.xact_start)) AS "ageS",
      ${firstWordOf('a')} AS statement, holder.waiting, holder."holdsStreams",
      ${QUEUED} AS queued,
      ARRAY(SELECT DISTINCT c.relname::text FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.pid = holder.pid AND l.granted AND l.mode <> 'AccessShareLock'
          AND c.relkind IN ('r', 'p') AND l.database = (SELECT oid FROM pg_database
            WHERE datname = current_database())
        ORDER BY 1 LIMIT ${TABLES_MAX}) AS tables
    FROM holder LEFT JOIN pg_stat_activity a ON a.pid = holder.pid
    WHERE a.wait_event_type IS DISTINCT FROM 'Lock' AND ${IS_LASTING}
    ORDER BY holder.waiting DESC, holder.pid LIMIT ${HOLDERS_MAX}) AS h) END`

/** Returns the process for whose lock the writes of a file wait. */
export const holderOfFile = ({ holder, waiting }: FileLock): LockHolder => ({
  ...{ pid: holder?.pid ?? 0, isProcess: true, application: holder?.command ?? '', user: null },
  ...{
    state: null,
    awaitsStandby: false,
    ageS: null,
    statement: null,
    tables: ['the database file'],
    waiting,
  },
  ...{ holdsStreams: false, queued: null },
})

/** SQL of the holders for `parseLockHolders`; undefined for a file. */
export const selectLockHolders = (
  { name }: Pick<Database, 'name'>,
  streamsS = STREAMS_S,
): Sql | undefined => (name === 'postgres' ? raw(holdersSql(streamsS)) : undefined)

/** Sessions in the queue of a row, behind those that wait for its transaction. */
const ROW_QUEUES = raw(`(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND wait_event = 'tuple')`)

/** SQL of the number of sessions that wait in queues of rows; undefined for a file. */
export const selectRowQueues = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? ROW_QUEUES : undefined

/** A text that is no statement, and might be a secret, has another first word. */
const STATEMENTS = new Set(
  (
    'ALTER ANALYZE BEGIN CALL CLUSTER COMMIT COPY CREATE DECLARE DELETE DO DROP EXECUTE EXPLAIN ' +
    'FETCH GRANT INSERT LOCK MERGE PREPARE REFRESH REINDEX RELEASE REVOKE ROLLBACK SAVEPOINT ' +
    'SELECT SET SHOW START TABLE TRUNCATE UPDATE VACUUM VALUES WITH'
  ).split(' '),
)

export function parseLockHolders(value: Value): readonly LockHolder[] {
  const holders = value === null ? [] : (JSON.parse(String(value)) as LockHolder[])
  const named = <T extends Pick<LockHolder, 'statement'>>(session: T): T => {
    const isNamed = session.statement !== null && STATEMENTS.has(session.statement)
    return { ...session, statement: isNamed ? session.statement : null }
  }
  return holders.map((holder) => ({
    ...named(holder),
    queued: holder.queued && named(holder.queued),
  }))
}

/** Reads the present holders; undefined for a file. */
export async function listLockHolders(
  db: Database,
  streamsS?: number,
): Promise<readonly LockHolder[] | undefined> {
  const select = selectLockHolders(db, streamsS)
  if (!select) return undefined
  const [row] = await db.arrays(sql`SELECT ${select}`)
  return parseLockHolders(row![0]!)
}

const IDLE = 'idle in transaction'

/** Says why a node may hold a lock, and what ends it; empty for another program. */
function describeNode({ application, state, waiting }: LockHolder): string {
  const node = nodeOfSession(application)
  if (node === undefined) return ''
  if (waiting === 0 || !state?.startsWith(IDLE)) return ` It is of the node ${node}.`
  return (
    ` The node ${node} hangs, is overloaded or has lost its network, or its own code waits: the ` +
    `server ends the session once it is idle for ${IDLE_IN_TRANSACTION_MS / 1_000} s. Restart ` +
    'that node if other sessions of it follow.'
  )
}

/** Says which waiting statement holds all others of a table up, and what ends that. */
export function describeQueue({ pid, application, queued }: LockHolder): string | undefined {
  if (!queued) return undefined
  const statement = `${queued.statement ?? 'A statement'} of session ${queued.pid}`
  const name = queued.application && ` (${queued.application})`
  const holder = `${pid}${application && ` (${application})`}`
  return (
    `${statement}${name} waits for session ${holder}, and all requests of ` +
    `${queued.table ?? 'the table'} wait behind it: SELECT pg_cancel_backend(${queued.pid}), or ` +
    `wait until session ${pid} ends.`
  )
}

/** Returns sentences: the session, its age, its last statement, what waits for it, its node. */
export function describeLockHolder(holder: LockHolder): string {
  const { pid, application, user, state, awaitsStandby, ageS, statement, tables, waiting } = holder
  if (holder.isProcess)
    return describeFileLock(pid === 0 ? undefined : { pid, command: application }, waiting)
  const names = [application, user && `role ${user}`].filter(Boolean).join(', ')
  const who = pid === 0 ? 'A prepared transaction' : `Session ${pid}${names && ` (${names})`}`
  const does = awaitsStandby ? 'waits for a synchronous standby' : state && `is ${state}`
  const since = ageS === null ? '' : ` for ${ageS} s`
  const after = statement === null || awaitsStandby ? '' : ` after ${statement}`
  const present = does ? ` ${does}${since}${after}, and` : ''
  const locks = tables.length === 0 ? 'a lock' : `locks of ${tables.join(', ')}`
  const count = waiting === 1 ? '1 statement waits' : `${waiting} statements wait`
  const effects = [
    ...(waiting > 0 ? [`holds ${locks}, for which ${count}`] : []),
    ...(holder.holdsStreams ? ['holds back the event streams of all customers until it ends'] : []),
  ]
  const queue = describeQueue(holder)
  return [`${who}${present} ${effects.join(', and ')}.${describeNode(holder)}`, queue]
    .filter(Boolean)
    .join(' ')
}
