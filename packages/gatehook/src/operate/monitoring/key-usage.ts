/**
 * `GET /admin/keys/{id}/usage`: the routes and scopes that a key used, from the counts of versions,
 * and its addresses and rejections, from the request log.
 */

import { listRoutesOfKey } from '../../declare/versions/usage-reader.ts'
import { findKeyScopes } from '../../identity/access/key-reader.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, prepareStatement, sql } from '../../platform/storage/sql.ts'
import { b } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'
import { instantOf, positionAt } from './position.ts'
import { SERIES_STEPS } from './steps.ts'

const DAY_MS = 86_400_000
const DAYS_DEFAULT = 30
const DAYS_MAX = 400
/** Entries of each list, those of most requests first. */
const ENTRIES_MAX = 100
/** The newest requests of the log that are examined. */
const LOGGED_MAX = 10_000

const used = { count: b.int(1), last_at: b.time() }
const method = b.text().example('GET')
const route = b.text().describe('The template of the path.').example('/things/{id}')

const usedRoute = b.object({
  method,
  route,
  version: b.text().example('v2'),
  scope: b.text().nullable().describe('The scope that it needs.').example('webhooks:read'),
  ...used,
})
const usedScope = b.object({
  scope: b.text().describe('The scope.').example('webhooks:read'),
  held: b.bool().describe('Whether the key holds it now.').example(true),
  ...used,
})
const refusal = b.object({
  error: b.text().describe('The code of the failure.').example('insufficient_scope'),
  status: b.int(400, 599).describe('401 or 403.').example(403),
  method,
  route,
  sample_request_id: b.text().describe('The newest of these requests.').example('req_7Hq2Xc'),
  ...used,
})

export const keyUsageOperations = {
  read: operation('GET /admin/keys/:id/usage', {
    id: 'read_key_usage',
    summary: 'Read the routes, scopes, addresses and rejections of a key',
    tag: 'keys',
    query: { days: b.int(1, DAYS_MAX).optional().describe('Default 30.').example(30) },
    output: b
      .object({
        days: b.int(1).describe('The days of the period.').example(30),
        routes: b
          .list(usedRoute)
          .describe('Routes under `/api` with a request in the period, with all of its counts.'),
        scopes: b.list(usedScope).describe('The scopes that these routes need.').example([]),
        unused_scopes: b
          .list(b.text())
          .describe('Scopes that the key holds and no route needed.')
          .example(['events:read']),
        logged: b
          .int(0)
          .describe('Requests of the log that the following members sum up.')
          .example(1200),
        addresses: b
          .list(b.object({ address: b.text(), ...used }))
          .describe('The addresses of these requests, those of most requests first.'),
        refusals: b.list(refusal).describe('The rejected ones of these requests, by cause.'),
      })
      .named('KeyUsage'),
  }),
}

interface KeyUsageDeps {
  /** The engine's database. */
  readonly db: Reader
  /** The tables of monitoring. */
  readonly store: Reader
  readonly clock: Clock
  readonly flush: () => Promise<void>
  readonly requiredScope: (method: string, route: string) => string | undefined
}

export const keyUsageRoute = (deps: KeyUsageDeps): Route =>
  implement(keyUsageOperations.read, async ({ params }, _, { days = DAYS_DEFAULT }) => {
    // A revoked key has its usage, too: the requests of a leaked key matter after its end.
    const key = await findKeyScopes(deps.db, params.id!)
    if (!key) throw new Failure('not_found')
    const since = deps.clock.now() - days * DAY_MS
    await deps.flush()
    const [routes, log] = await Promise.all([
      readRoutes(deps, params.id!, key.scope, since),
      readLog(deps.store, params.id!, since),
    ])
    const heldScopes = JSON.parse(key.scopes) as string[]
    const scopes = sumScopes(routes, heldScopes)
    const usedScopes = new Set(scopes.map(({ scope }) => scope))
    return respond(keyUsageOperations.read, {
      days,
      routes: routes.slice(0, ENTRIES_MAX),
      scopes,
      unused_scopes: heldScopes.filter((scope) => !usedScopes.has(scope)),
      ...log,
    })
  })

interface UsedRoute {
  readonly method: string
  readonly route: string
  readonly version: string
  readonly scope: string | null
  readonly count: number
  readonly last_at: string
}

/** Reads the counts of the key, most requests first. */
async function readRoutes(
  { db, requiredScope }: KeyUsageDeps,
  id: string,
  scope: number,
  since: number,
): Promise<UsedRoute[]> {
  const rows = await listRoutesOfKey(db, { id, scope, sinceMs: since })
  return rows
    .map(({ method, route, version, count, last_at }) => ({
      method,
      route,
      version,
      scope: requiredScope(method, `/api${route.replace(/\{(\w+)\}/g, ':$1')}`) ?? null,
      count: Number(count),
      last_at: isoTime(Number(last_at)),
    }))
    .toSorted((a, b) => b.count - a.count)
}

function sumScopes(routes: readonly UsedRoute[], heldScopes: readonly string[]) {
  const sums = new Map<string, { count: number; last_at: string }>()
  for (const { scope, count, last_at } of routes) {
    if (scope === null) continue
    const sum = sums.get(scope) ?? { count: 0, last_at }
    sum.count += count
    if (last_at > sum.last_at) sum.last_at = last_at
    sums.set(scope, sum)
  }
  return [...sums].map(([scope, sum]) => ({ scope, held: heldScopes.includes(scope), ...sum }))
}

interface LogRow extends Row {
  readonly position: number
  readonly id: string
  readonly method: string
  readonly route: string
  readonly status: number | null
  readonly error: string | null
  readonly ip: string
}

const logged = prepareStatement(`SELECT position, id, method, route, status, error, ip
  FROM gh_monitoring_requests WHERE key_id = ? AND position >= ?
  ORDER BY position DESC LIMIT ${LOGGED_MAX}`)

/** Sums up the newest requests of the key in the log. */
async function readLog(store: Reader, id: string, since: number) {
  const rows = await store.all<LogRow>(logged([id, positionAt(since)]))
  const atOf = ({ position }: LogRow) => isoTime(instantOf(Number(position)))
  const addresses = new Map<string, { address: string; count: number; last_at: string }>()
  const refusals = new Map<string, ReturnType<typeof refusalOf>>()
  const refusalOf = (row: LogRow) => ({
    error: row.error ?? '',
    status: Number(row.status),
    method: row.method,
    route: row.route,
    sample_request_id: row.id,
    count: 0,
    last_at: atOf(row),
  })
  // The newest request comes first.
  for (const row of rows) {
    const address = addresses.get(row.ip) ?? { address: row.ip, count: 0, last_at: atOf(row) }
    address.count += 1
    addresses.set(row.ip, address)
    if (row.status !== 401 && row.status !== 403) continue
    const key = `${row.error} ${row.method} ${row.route}`
    const refusal = refusals.get(key) ?? refusalOf(row)
    refusal.count += 1
    refusals.set(key, refusal)
  }
  const mostFirst = <T extends { readonly count: number }>(sums: ReadonlyMap<string, T>): T[] =>
    [...sums.values()].toSorted((a, b) => b.count - a.count).slice(0, ENTRIES_MAX)
  return {
    logged: rows.length,
    addresses: mostFirst(addresses),
    refusals: mostFirst(refusals),
  }
}

/** Counts of rejections are read at this step, so that few rows are summed. */
const REFUSAL_STEP_S = SERIES_STEPS[2]!.seconds

/** Returns the responses 401 and 403 of keys in about the last 24 hours, by id. */
export async function readKeyRefusals(
  store: Reader,
  ids: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const fromS = Math.floor((nowMs - DAY_MS) / 1000)
  const list = join(ids.map((id) => sql`${id}`))
  const rows = await store.all<Row & { caller: string; total: unknown }>(sql`SELECT caller,
    CAST(sum(refused) AS BIGINT) AS total FROM gh_monitoring_series
    WHERE step = ${REFUSAL_STEP_S} AND at >= ${fromS} AND caller IN (${list}) AND refused > 0
    GROUP BY caller`)
  return new Map(rows.map(({ caller, total }) => [caller, Number(total)]))
}
