/**
 * The callers of a version with the trend of each (`GET /admin/versions/{v}/callers`): routes from
 * the counts of versions, requests by day from the series, and the endpoints that are pinned.
 */
import { hasVersion, listUsage, type UsageRow } from '../../declare/versions/usage-reader.ts'
import { customerIdOf, readCustomers } from '../../identity/access/customer-reader.ts'
import { readKeyNames } from '../../identity/access/key-reader.ts'
import { readClientNames } from '../../identity/oauth/client-store.ts'
import { ISSUER_PREFIX } from '../../identity/oauth/issuer-store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { modeOf, type Scope } from '../../kernel/principal.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import {
  listPinnedEndpoints,
  type PinnedEndpoint,
} from '../../outbound/deliveries/endpoint-reader.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { join, type Sql, sql } from '../../platform/storage/sql.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { bindingOf, decodeCursor, encodeCursor, type Key } from '../../protocol/lists/cursor.ts'
import { SERIES_STEPS, stepStart } from './steps.ts'
import {
  CALLERS_MAX,
  COUNTS_MAX,
  versionTrafficOperations as operations,
} from './version-operations.ts'
import { readTraffic } from './version-traffic.ts'
import { trendOf } from './version-trend.ts'

const DAY_S = SERIES_STEPS.at(-1)!.seconds
const DAYS_DEFAULT = 30
const ROUTES_MAX = 20

export interface VersionTrafficDeps {
  /** The engine's database. */
  readonly db: Reader
  /** The tables of monitoring. */
  readonly store: Reader
  readonly clock: Clock
  readonly cursorKeys: MacKeys
  readonly flush: () => Promise<void>
  readonly flushUsage: () => Promise<void>
}

interface VersionCallerSum {
  /** Identifies the caller among those of a version. */
  readonly key: string
  readonly scope: number
  /** Null for unauthenticated callers. */
  readonly customer: string | null
  readonly kind: string
  readonly id: string | null
  readonly routes: { method: string; route: string; count: number }[]
  count: number
  lastMs: number
}

const kindOf = ({ scope, key_id: key, client_id: client }: UsageRow): string => {
  if (key) return 'key'
  if (client) return client.startsWith(ISSUER_PREFIX) ? 'workload' : 'client'
  return Number(scope) === 0 ? 'anonymous' : 'person'
}

/** Sums up the counts of each credential, most requests first. */
function sumCallers(rows: readonly UsageRow[]): VersionCallerSum[] {
  const sums = new Map<string, VersionCallerSum>()
  for (const row of rows) {
    const id = row.key_id || row.client_id || null
    const key = `${row.scope} ${id}`
    const sum = sums.get(key) ?? {
      key,
      scope: Number(row.scope),
      customer: Number(row.scope) === 0 ? null : row.customer,
      kind: kindOf(row),
      id,
      routes: [],
      count: 0,
      lastMs: 0,
    }
    const count = Number(row.count)
    sum.routes.push({ method: row.method, route: row.route, count })
    sum.count += count
    sum.lastMs = Math.max(sum.lastMs, Number(row.last_at))
    sums.set(key, sum)
  }
  return [...sums.values()].toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
}

const sqlTexts = (texts: readonly string[]): Sql => join(texts.map((text) => sql`${text}`))

/** Returns the names of the keys and clients among callers. */
async function readNames(from: Reader, callers: readonly VersionCallerSum[]) {
  const idsOf = (kind: string) =>
    callers.flatMap((sum) => (sum.kind === kind ? (sum.id ?? []) : []))
  const clients = [...idsOf('client'), ...idsOf('workload')]
  const keys = await readKeyNames(from, idsOf('key'))
  return new Map([...keys, ...(await readClientNames(from, clients))])
}

const seriesKey = (customer: string | null, mode: string | null, caller: string | null) =>
  `${customer ?? ''} ${mode ?? ''} ${caller ?? ''}`

const modeOfCaller = ({ scope }: { readonly scope: number }) =>
  scope === 0 ? null : modeOf(scope as Scope)

/** Returns the requests of callers by day, the oldest day first. */
async function readDaily(
  store: Reader,
  version: string,
  callers: readonly VersionCallerSum[],
  { fromS, days }: { readonly fromS: number; readonly days: number },
): Promise<ReadonlyMap<string, number[]>> {
  const daily = new Map<string, number[]>()
  if (callers.length === 0) return daily
  const list = sqlTexts([...new Set(callers.map(({ id }) => id ?? ''))])
  const rows = await store.arrays(sql`SELECT customer, mode, caller, at,
      CAST(sum(s2 + s3 + s4 + s5) AS BIGINT) FROM gh_monitoring_series
    WHERE step = ${DAY_S} AND at >= ${fromS} AND version = ${version} AND caller IN (${list})
    GROUP BY customer, mode, caller, at`)
  for (const [customer, mode, caller, at, count] of rows) {
    const key = seriesKey(String(customer), String(mode), String(caller))
    const values = daily.get(key) ?? Array<number>(days).fill(0)
    const day = (Number(at) - fromS) / DAY_S
    if (day < days) values[day] = Number(count)
    daily.set(key, values)
  }
  return daily
}

interface CallerSelection {
  readonly version: string
  readonly days: number
  readonly customer: string | undefined
  /** Undefined: both modes. */
  readonly mode: 'live' | 'test' | undefined
  readonly limit: number
  readonly cursor: string | undefined
}

/** The last caller of a page: a credential by its requests, or an endpoint by its number. */
type CallerEdge =
  | readonly [phase: 'credential', count: number, key: string]
  | readonly [phase: 'endpoint', no: number]

const isAfter = ({ count, key }: VersionCallerSum, edge: CallerEdge | undefined): boolean =>
  edge?.[0] !== 'credential' || count < edge[1] || (count === edge[1] && key > edge[2])

/** The callers of a page, and where the next one continues. */
interface CallerPage {
  readonly callers: readonly VersionCallerSum[]
  readonly pinned: readonly PinnedEndpoint[]
  readonly next: CallerEdge | undefined
}

async function readCallerPage(
  db: Reader,
  selection: CallerSelection,
  sinceMs: number,
  edge: CallerEdge | undefined,
): Promise<CallerPage> {
  const { limit } = selection
  const afterNo = edge?.[0] === 'endpoint' ? edge[1] : 0
  const isPastCredentials = edge?.[0] === 'endpoint'
  const counts = isPastCredentials
    ? []
    : await listUsage(db, { ...selection, sinceMs, limit: COUNTS_MAX })
  const sums = sumCallers(counts).filter((sum) => isAfter(sum, edge))
  const callers = sums.slice(0, limit)
  const last = callers.at(-1)
  if (last && sums.length > limit) {
    return { callers, pinned: [], next: ['credential', last.count, last.key] }
  }
  const left = limit - callers.length
  const rows = await listPinnedEndpoints(db, { ...selection, afterNo, limit: left + 1 })
  const pinned = rows.slice(0, left)
  const next: CallerEdge = ['endpoint', Number(pinned.at(-1)?.no ?? afterNo)]
  return { callers, pinned, next: rows.length > left ? next : undefined }
}

async function readCallers(
  { db, store, clock, cursorKeys }: VersionTrafficDeps,
  selection: CallerSelection,
) {
  const { version, days, customer, mode, cursor } = selection
  const binding = bindingOf('version callers', version, days, customer, mode)
  const keys = cursor === undefined ? undefined : decodeCursor(cursorKeys, binding, cursor).keys
  const todayS = stepStart(Math.floor(clock.now() / 1000), DAY_S)
  const fromS = todayS - (days - 1) * DAY_S
  const edge = keys as readonly Key[] as CallerEdge | undefined
  const { callers, pinned, next } = await readCallerPage(db, selection, fromS * 1000, edge)
  const customers = await readCustomers(
    db,
    [...callers, ...pinned].flatMap((row) => row.customer ?? []),
  )
  const names = await readNames(db, callers)
  const daily = await readDaily(store, version, callers, { fromS, days })
  const ownerOf = (id: string | null) => ({
    customer: id,
    customer_name: (id && customers.get(id)?.name) ?? null,
    contact: (id && customers.get(id)?.contact_email) ?? null,
  })
  const credentials = callers.map((sum) => {
    const mode = modeOfCaller(sum)
    const values = daily.get(seriesKey(sum.customer, mode, sum.id)) ?? Array<number>(days).fill(0)
    return {
      ...ownerOf(sum.customer),
      mode,
      kind: sum.kind,
      id: sum.id,
      name: (sum.id && names.get(sum.id)) ?? null,
      routes: sum.routes.toSorted((a, b) => b.count - a.count).slice(0, ROUTES_MAX),
      count: sum.count,
      daily: values,
      last_at: isoTime(sum.lastMs),
      outlook: { kind: trendOf(values.slice(0, -1)) },
    }
  })
  const endpoints = pinned.map((row) => ({
    ...ownerOf(row.customer),
    mode: modeOf(Number(row.scope) as Scope),
    kind: 'webhook',
    id: row.id,
    name: row.url,
    routes: [],
    count: 0,
    daily: [],
    last_at: row.last_success_at === null ? null : isoTime(Number(row.last_success_at)),
    outlook: { kind: 'pinned' },
  }))
  const next_cursor =
    next === undefined
      ? null
      : encodeCursor(cursorKeys.current, binding, { step: 'after', keys: next })
  return { days, data: [...credentials, ...endpoints], next_cursor, has_more: next !== undefined }
}

async function requireVersion(from: Reader, version: string): Promise<void> {
  if (!(await hasVersion(from, version))) throw new Failure('not_found')
}

export function versionTrafficRoutes(deps: VersionTrafficDeps): Route[] {
  return [
    implement(operations.callers, async ({ params }, _, query) => {
      const { days = DAYS_DEFAULT, limit = CALLERS_MAX, customer, mode, cursor } = query
      await requireVersion(deps.db, params.version!)
      await Promise.all([deps.flush(), whileAvailable(deps.flushUsage(), undefined)])
      const selection = {
        version: params.version!,
        days,
        customer: customer && (await customerIdOf(deps.db, customer)),
        mode,
        limit,
        cursor,
      }
      return respond(operations.callers, await readCallers(deps, selection))
    }),
    implement(operations.traffic, async ({ params }, _, query) => {
      await requireVersion(deps.db, params.version!)
      await deps.flush()
      const { weekday, hour, hours = 1 } = query
      const window = { version: params.version!, weekday, hour, hours }
      return respond(operations.traffic, await readTraffic(deps, window))
    }),
  ]
}
