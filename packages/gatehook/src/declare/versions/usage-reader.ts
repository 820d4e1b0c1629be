/** Reads the counts of versions for other modules: callers, and the routes of a key. */
import type { Mode } from '../../kernel/principal.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { prepareStatement, type Sql, sql } from '../../platform/storage/sql.ts'

const byName = prepareStatement('SELECT 1 AS version FROM gh_versions WHERE version = ?')
const names = prepareStatement('SELECT version FROM gh_versions')

export const hasVersion = async (from: Reader, version: string): Promise<boolean> =>
  (await from.get(byName([version]))) !== undefined

/** Counts of a version that are examined for the number of its callers. */
const EXAMINED_MAX = 10_000

/** Returns the number of customers that called a version since an instant, and the last time. */
export async function countVersionCallers(
  from: Reader,
  version: string,
  sinceMs: number,
): Promise<{ readonly callers: number; readonly lastAt: number | null }> {
  const row = await from.get(sql`SELECT count(DISTINCT scope) AS callers, max(last_at) AS last_at
    FROM (SELECT scope, last_at FROM gh_version_usage
      WHERE version = ${version} AND last_at >= ${sinceMs} LIMIT ${EXAMINED_MAX}) AS recent`)
  return { callers: Number(row?.callers ?? 0), lastAt: row?.last_at ?? null }
}

/** SQL of the ids of the customers that called a version since an instant. */
export const selectCustomersCalling = (version: string, sinceMs: number): Sql =>
  sql`SELECT customer FROM gh_version_usage
    WHERE version = ${version} AND last_at >= ${sinceMs} AND scope <> 0`

interface RouteUsage extends Row {
  readonly version: string
  readonly method: string
  readonly route: string
  readonly count: number
  readonly last_at: number
}

const routesOf = prepareStatement(`SELECT version, method, route, count, last_at
  FROM gh_version_usage WHERE version = ? AND scope = ? AND key_id = ? AND last_at >= ?`)

/** Returns the requests of a key since an instant, by version and route. */
export async function listRoutesOfKey(
  from: Reader,
  { id, scope, sinceMs }: { readonly id: string; readonly scope: number; readonly sinceMs: number },
): Promise<RouteUsage[]> {
  const usage: RouteUsage[] = []
  // One seek for each version: the index of callers begins with it.
  for (const { version } of await from.all<Row & { readonly version: string }>(names([]))) {
    usage.push(...(await from.all<RouteUsage>(routesOf([version, scope, id, sinceMs]))))
  }
  return usage
}

export interface UsageSelection {
  readonly version: string
  readonly sinceMs: number
  /** Undefined: of all customers. */
  readonly customer: string | undefined
  /** Undefined: of both modes. */
  readonly mode: Mode | undefined
  readonly limit: number
}

export interface UsageRow extends Row {
  /** 0 for unauthenticated callers, which belong to both modes. */
  readonly scope: number
  readonly customer: string
  readonly key_id: string
  readonly client_id: string
  readonly method: string
  readonly route: string
  readonly count: number
  readonly last_at: number
}

/** Lists the counts of the callers of a version, those of the latest requests first. */
export function listUsage(from: Reader, selection: UsageSelection): Promise<UsageRow[]> {
  const { version, sinceMs, customer, mode, limit } = selection
  const live = mode === 'live' ? 1 : 0
  return from.all<UsageRow>(sql`SELECT scope, customer, key_id, client_id, method, route, count,
      last_at FROM gh_version_usage
    WHERE version = ${version} AND last_at >= ${sinceMs}
      ${customer === undefined ? sql`` : sql`AND customer = ${customer}`}
      ${mode === undefined ? sql`` : sql`AND (scope = 0 OR scope % 2 = ${live})`}
    ORDER BY last_at DESC, no DESC LIMIT ${limit}`)
}
