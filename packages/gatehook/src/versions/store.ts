/** SQL of versions: what was announced, who called, who was told. */
import type { Reader, Tx } from '../storage/database.ts'
import { fixed, sql } from '../storage/sql.ts'
import type { Overrides } from './calendar.ts'

export interface Announced {
  readonly version: string
  readonly overrides: Overrides
  readonly revision: number
}

interface AnnouncedRow {
  readonly version: string
  readonly overrides: string
  readonly revision: number
}

const announced = (row: AnnouncedRow): Announced => ({
  ...row,
  overrides: JSON.parse(row.overrides) as Overrides,
})

export async function readAnnounced(from: Reader): Promise<Announced[]> {
  const rows = await from.all<AnnouncedRow & Record<string, unknown>>(
    sql`SELECT version, overrides, revision FROM gh_versions`,
  )
  return rows.map(announced)
}

/** A row for a version that has none: there is one to lock, and to list. */
export const insertVersion = (tx: Tx, version: string): Promise<number> =>
  tx.run(sql`INSERT INTO gh_versions (version) VALUES (${version})
    ON CONFLICT (version) DO NOTHING`)

/** Two changes of one version come one after the other. */
export async function lockAnnounced(tx: Tx, version: string): Promise<Announced> {
  const row = await tx.lock<AnnouncedRow & Record<string, unknown>>(
    sql`SELECT version, overrides, revision FROM gh_versions WHERE version = ${version}`,
  )
  return announced(row!)
}

export const writeAnnounced = (tx: Tx, { version, overrides, revision }: Announced) =>
  tx.run(sql`UPDATE gh_versions SET overrides = ${JSON.stringify(overrides)},
    revision = ${revision} WHERE version = ${version}`)

/** Calls of one caller on one route; '' where there is no key or client, scope 0 for anybody. */
export interface Usage {
  readonly version: string
  readonly scope: number
  readonly customer: string
  readonly keyId: string
  readonly clientId: string
  readonly method: string
  readonly route: string
  readonly count: number
  readonly lastMs: number
}

const addition = fixed(
  `INSERT INTO gh_version_usage
     (version, scope, customer, key_id, client_id, method, route, count, last_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (version, scope, key_id, client_id, method, route) DO UPDATE SET
     count = gh_version_usage.count + excluded.count,
     last_at = CASE WHEN excluded.last_at > gh_version_usage.last_at
       THEN excluded.last_at ELSE gh_version_usage.last_at END`,
)

export const addUsage = (tx: Tx, use: Usage): Promise<number> =>
  tx.run(
    addition([
      ...[use.version, use.scope, use.customer, use.keyId, use.clientId],
      ...[use.method, use.route, use.count, use.lastMs],
    ]),
  )

/** A customer's mode, as a scope, and when it called last. */
export interface CallerScope {
  readonly scope: number
  readonly lastMs: number
}

/** At most `limit` of those who called since an instant and have not had the notice yet. */
export async function untold(
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

/** Whether this transaction is the first of all nodes to send a notice to a scope. */
export async function claimNotice(
  tx: Tx,
  version: string,
  notice: string,
  scope: number,
  now: number,
): Promise<boolean> {
  const claimed = await tx.run(sql`INSERT INTO gh_version_notices (version, notice, scope, sent_at)
    VALUES (${version}, ${notice}, ${scope}, ${now}) ON CONFLICT DO NOTHING`)
  return claimed > 0
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
    FROM gh_version_usage u LEFT JOIN gh_customers c ON c.id = u.customer
    WHERE u.version = ${version} AND u.last_at >= ${sinceMs}
    GROUP BY u.customer, c.name ORDER BY sum(u.count) DESC, u.customer LIMIT ${limit}`)
