/** SQL of versions: calendars, usage counts, sent notices. */
import { customerOf } from '../../identity/access/customer-reader.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import type { CalendarOverrides } from './calendar.ts'

interface StoredCalendar {
  readonly version: string
  readonly overrides: CalendarOverrides
  readonly revision: number
}

interface CalendarRow {
  readonly version: string
  readonly overrides: string
  readonly revision: number
}

const parseRow = (row: CalendarRow): StoredCalendar => ({
  ...row,
  overrides: JSON.parse(row.overrides) as CalendarOverrides,
})

export async function listCalendars(from: Reader): Promise<StoredCalendar[]> {
  const rows = await from.all<CalendarRow & Record<string, unknown>>(
    sql`SELECT version, overrides, revision FROM gh_versions`,
  )
  return rows.map(parseRow)
}

/** SQL of the sum of all revisions, which changes with each calendar. */
export const selectRevisions = sql`(SELECT COALESCE(SUM(revision), 0) FROM gh_versions)`

/** Inserts the row of a version if it has none: updates lock it, lists read it. */
export const insertVersion = (tx: Tx, version: string): Promise<number> =>
  tx.run(sql`INSERT INTO gh_versions (version) VALUES (${version})
    ON CONFLICT (version) DO NOTHING`)

/** Locks the calendar of a version, so that concurrent updates run one after the other. */
export async function lockCalendar(tx: Tx, version: string): Promise<StoredCalendar> {
  const row = await tx.lock<CalendarRow & Record<string, unknown>>(
    sql`SELECT version, overrides, revision FROM gh_versions WHERE version = ${version}`,
  )
  return parseRow(row!)
}

export const updateCalendarRow = (tx: Tx, { version, overrides, revision }: StoredCalendar) =>
  tx.run(sql`UPDATE gh_versions SET overrides = ${JSON.stringify(overrides)},
    revision = ${revision} WHERE version = ${version}`)

/**
 * The requests of one caller on one route. `keyId` and `clientId` are empty, and `scope` is 0, if
 * the caller has none.
 */
export interface VersionUsage {
  readonly version: string
  readonly scope: number
  readonly customer: string
  readonly keyId: string
  readonly clientId: string
  /** `issuer|sub` of a workload; else empty. */
  readonly subject: string
  readonly method: string
  readonly route: string
  readonly count: number
  readonly lastMs: number
}

const usageUpsert = prepareStatement(
  `INSERT INTO gh_version_usage
     (version, scope, customer, key_id, client_id, subject, method, route, count, last_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (version, scope, key_id, client_id, subject, method, route) DO UPDATE SET
     count = gh_version_usage.count + excluded.count,
     last_at = CASE WHEN excluded.last_at > gh_version_usage.last_at
       THEN excluded.last_at ELSE gh_version_usage.last_at END`,
)

export const addUsage = (tx: Tx, usage: VersionUsage): Promise<number> => {
  const { version, scope, customer, keyId, clientId, subject, method, route } = usage
  const { count, lastMs } = usage
  const caller = [version, scope, customer, keyId, clientId, subject]
  return tx.run(usageUpsert([...caller, method, route, count, lastMs]))
}

/** Returns at most `limit` stored subjects of an issuer in a version, customer and mode. */
export async function listSubjects(
  from: Reader,
  { version, scope, clientId }: Pick<VersionUsage, 'version' | 'scope' | 'clientId'>,
  limit: number,
): Promise<string[]> {
  const rows = await from.arrays(sql`SELECT DISTINCT subject FROM gh_version_usage
    WHERE version = ${version} AND scope = ${scope} AND key_id = '' AND client_id = ${clientId}
      AND subject <> '' LIMIT ${limit}`)
  return rows.map(([subject]) => String(subject))
}

/** A customer and mode that called a version, and the instant of its last request. */
export interface CallerScope {
  readonly scope: number
  readonly lastMs: number
}

/** Returns at most `limit` callers since an instant that have not received the notice. */
export async function listUnnotifiedCallers(
  from: Reader,
  version: string,
  notice: string,
  sinceMs: number,
  limit: number,
): Promise<CallerScope[]> {
  const rows = await from.arrays(sql`
    SELECT scope, max(last_at) FROM gh_version_usage AS called
    WHERE version = ${version} AND last_at >= ${sinceMs} AND scope > 0
      AND NOT EXISTS (SELECT 1 FROM gh_version_notices AS had WHERE had.version = ${version}
        AND had.notice = ${notice} AND had.scope = called.scope)
    GROUP BY scope ORDER BY scope LIMIT ${limit}`)
  return rows.map(([scope, lastMs]) => ({ scope: Number(scope), lastMs: Number(lastMs) }))
}

/** Returns whether this transaction is the first of all nodes to send a notice to a scope. */
export async function claimNotice(
  tx: Tx,
  version: string,
  notice: string,
  scope: number,
  now: number,
): Promise<boolean> {
  const insertedCount =
    await tx.run(sql`INSERT INTO gh_version_notices (version, notice, scope, sent_at)
    VALUES (${version}, ${notice}, ${scope}, ${now}) ON CONFLICT DO NOTHING`)
  return insertedCount > 0
}

/** The requests of one customer to a version, summed over its routes. */
export interface VersionCaller {
  /** `cus_…`, or `anonymous`. */
  readonly customer: string
  /** Null if the customer is deleted or anonymous. */
  readonly name: string | null
  readonly count: number
  /** Epoch milliseconds. */
  readonly last_at: number
}

/** Returns the callers of a version since an instant, the busiest first. */
export const listVersionCallers = (
  from: Reader,
  version: string,
  sinceMs: number,
  limit: number,
): Promise<VersionCaller[]> =>
  from.all<VersionCaller & Record<string, unknown>>(sql`
    SELECT u.customer, c.name, sum(u.count) AS count, max(u.last_at) AS last_at
    FROM gh_version_usage u LEFT JOIN ${raw(customerOf('u.customer'))}
    WHERE u.version = ${version} AND u.last_at >= ${sinceMs}
    GROUP BY u.customer, c.name ORDER BY sum(u.count) DESC, u.customer LIMIT ${limit}`)

/** The requests of one key or client of a customer and mode to a version. */
export interface CallerUsage {
  readonly version: string
  /** Empty without a key. */
  readonly key_id: string
  /** Empty without a client. */
  readonly client_id: string
  readonly count: number
  /** Epoch milliseconds. */
  readonly last_at: number
}

/** Returns the callers of a version in a scope since an instant, the latest first. */
export const listCallersInScope = (
  from: Reader,
  {
    version,
    scope,
    sinceMs,
    limit,
  }: Readonly<Record<'scope' | 'sinceMs' | 'limit', number>> & {
    readonly version: string
  },
): Promise<CallerUsage[]> =>
  from.all<CallerUsage & Record<string, unknown>>(sql`
    SELECT version, key_id, client_id, sum(count) AS count, max(last_at) AS last_at
    FROM gh_version_usage
    WHERE version = ${version} AND scope = ${scope} AND last_at >= ${sinceMs}
    GROUP BY version, key_id, client_id ORDER BY max(last_at) DESC LIMIT ${limit}`)
