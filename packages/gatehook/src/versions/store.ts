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

/** Whose data a caller acts on: customers in both modes come twice. Anybody is not among them. */
export const callersSince = (from: Reader, version: string, sinceMs: number) =>
  from.all<{ scope: number; last_at: number }>(sql`
    SELECT scope, max(last_at) AS last_at FROM gh_version_usage
    WHERE version = ${version} AND last_at >= ${sinceMs} AND scope > 0
    GROUP BY scope ORDER BY scope`)

/** Whether this transaction is the first of all nodes to send a notice. */
export async function claimNotice(
  tx: Tx,
  version: string,
  notice: string,
  now: number,
): Promise<boolean> {
  const claimed = await tx.run(sql`INSERT INTO gh_version_notices (version, notice, sent_at)
    VALUES (${version}, ${notice}, ${now}) ON CONFLICT (version, notice) DO NOTHING`)
  return claimed > 0
}
