/**
 * `/portal/api/health`: whether the integration of a customer works, and what it must change by
 * when. Versions in use come from counted requests and from the pins of webhooks.
 */

import type { VersionRepresentation } from '../../declare/versions/calendar-update.ts'
import { listCallersInScope } from '../../declare/versions/store.ts'
import { listExpiringKeysOf, readKeyNames } from '../../identity/access/key-reader.ts'
import { readClientNames } from '../../identity/oauth/client-store.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Principal } from '../../kernel/principal.ts'
import { isoTime } from '../../kernel/time.ts'
import type { PeakUse } from '../../operate/monitoring/peak.ts'
import { FAILING_MS } from '../../outbound/deliveries/endpoint-health.ts'
import {
  countRecentlyFailed,
  listEndpointsOf,
  type OwnEndpoint,
} from '../../outbound/deliveries/endpoint-reader.ts'
import { HEALTH_STATES } from '../../outbound/deliveries/outcome-summary.ts'
import { readHealth } from '../../outbound/webhooks/all-registrations.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { Call, Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { requireAllRows } from './authority.ts'
import {
  type DeadlineJson,
  type EndpointHealthJson,
  portalDataOperations as operations,
  type PortalHealthJson,
  type UpcomingChangeJson,
  type UsedVersionJson,
  type VersionCallerJson,
} from './data-operations.ts'

const DAY_MS = 86_400_000
/** A caller counts as long as its last request is not older. */
const CALLERS_SINCE_MS = 30 * DAY_MS
const EXPIRES_SOON_MS = 30 * DAY_MS
const CALLERS_MAX = 50
const PEAK_CACHE_MS = 60_000
const PEAKS_MAX = 1000

export interface PortalHealthDeps {
  readonly db: Database
  readonly clock: Clock
  readonly versions: () => readonly VersionRepresentation[]
  /** Returns the breaking changes after a version, oldest first. */
  readonly changesAfter: (version: string) => readonly UpcomingChangeJson[]
  readonly readPeak: (owner: Pick<Principal, 'customer' | 'mode'>) => Promise<PeakUse>
  /** The limit of a credential without one of its customer; undefined: none. */
  readonly rate: Principal['rate']
}

export function healthRoute(deps: PortalHealthDeps): Route {
  const readPeak = cachedPeaks(deps)
  return implement(operations.health, async (call) => {
    const principal = call.principal!
    requireAllRows(principal)
    const registrations = await listEndpointsOf(deps.db, principal.scope)
    const [versions, webhooks, keys, peak] = await Promise.all([
      readUsedVersions(deps, call, registrations),
      readEndpoints(deps, principal, registrations),
      readExpiringKeys(deps, principal),
      readPeak(principal),
    ])
    const ending = versions.filter(({ fix_by }) => fix_by !== null)
    const oldest = ending[0]?.version
    return respond(operations.health, {
      state: stateOf(webhooks, ending.length + keys.length),
      fix_by: ending.map(({ fix_by }) => fix_by!).sort()[0] ?? null,
      deadlines: deadlinesOf(ending, webhooks, keys),
      versions,
      changes: oldest === undefined ? [] : [...deps.changesAfter(oldest)],
      webhooks,
      limits: limitsOf(principal.rate ?? deps.rate, peak),
    })
  })
}

function stateOf(
  webhooks: readonly EndpointHealthJson[],
  endingCount: number,
): PortalHealthJson['state'] {
  const isBroken = ({ state, disabled_reason }: EndpointHealthJson) =>
    state === 'failing' || disabled_reason !== null
  if (webhooks.some(isBroken)) return 'broken'
  return endingCount > 0 ? 'fix_by' : 'well'
}

/** Returns the deadlines of versions, endpoints and keys, soonest first. */
function deadlinesOf(
  ending: readonly UsedVersionJson[],
  webhooks: readonly EndpointHealthJson[],
  keys: readonly DeadlineJson[],
): DeadlineJson[] {
  const ofVersions = ending.map(({ version, fix_by }) => ({
    ...{ kind: 'version', id: version, name: version, at: fix_by! },
  }))
  const ofWebhooks = webhooks.flatMap(({ id, url, off_at }) =>
    off_at === null ? [] : { kind: 'webhook', id, name: new URL(url).host, at: off_at },
  )
  const all = [...ofVersions, ...ofWebhooks, ...keys]
  return all.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

async function readExpiringKeys(
  { db, clock }: PortalHealthDeps,
  { scope, scopes }: Principal,
): Promise<DeadlineJson[]> {
  if (!scopes.has('keys:read')) return []
  const fromMs = clock.now()
  const toMs = fromMs + EXPIRES_SOON_MS
  const rows = await listExpiringKeysOf(db, scope, { fromMs, toMs, temporaryMs: DAY_MS })
  return rows.map(({ id, name, expires_at: at }) => ({
    ...{ kind: 'key', id, name, at: isoTime(Number(at)) },
  }))
}

function limitsOf(rate: Principal['rate'], { requests, stepS }: PeakUse) {
  if (!rate) return { requests: null, used_share: null }
  const most = rate.limit * ((stepS * 1000) / rate.windowMs)
  return {
    requests: { limit: rate.limit, window_s: rate.windowMs / 1000 },
    used_share: Math.round((requests / most) * 1000) / 1000,
  }
}

/** Reading a peak examines a day of counts, so a customer's is read at most once a minute. */
function cachedPeaks({ readPeak, clock }: PortalHealthDeps): PortalHealthDeps['readPeak'] {
  const cache = new BoundedMap<string, { readonly atMs: number; readonly peak: Promise<PeakUse> }>(
    PEAKS_MAX,
  )
  return ({ customer, mode }) => {
    const key = `${customer} ${mode}`
    const cached = cache.get(key)
    const now = clock.elapsedMs()
    if (cached && now - cached.atMs < PEAK_CACHE_MS) return cached.peak
    const peak = readPeak({ customer, mode })
    cache.set(key, { atMs: now, peak })
    peak.catch(() => cache.delete(key))
    return peak
  }
}

/**
 * Returns the versions that keys, clients and webhooks of the customer use, oldest first. The ids
 * and names of keys and clients need `keys:read`, those of webhooks `webhooks:read`.
 */
async function readUsedVersions(
  { db, clock, versions }: PortalHealthDeps,
  { principal }: Call,
  registrations: readonly OwnEndpoint[],
): Promise<UsedVersionJson[]> {
  const { scope, scopes } = principal!
  const sinceMs = clock.now() - CALLERS_SINCE_MS
  const usage = await Promise.all(
    versions().map(({ version }) =>
      listCallersInScope(db, { version, scope, sinceMs, limit: CALLERS_MAX }),
    ),
  )
  const used = scopes.has('keys:read') ? usage.flat() : []
  const keyNames = await readKeyNames(
    db,
    used.flatMap(({ key_id }) => key_id || []),
  )
  const clientNames = await readClientNames(
    db,
    used.flatMap(({ client_id }) => client_id || []),
  )
  const names = new Map([...keyNames, ...clientNames])
  const readsWebhooks = scopes.has('webhooks:read')
  return versions().flatMap((description, at) => {
    const { version, state, sunset_at, successor, migration_guide } = description
    const pinned = registrations.filter(({ api_version }) => api_version === version)
    if (usage[at]!.length + pinned.length === 0) return []
    const callers: VersionCallerJson[] = [
      ...usage[at]!.map((row) => callerOf(row, names)),
      ...pinned.map(({ id, url }) => ({
        kind: 'webhook',
        id: readsWebhooks ? id : null,
        name: readsWebhooks ? new URL(url).host : null,
        ...{ count: null, last_at: null },
      })),
    ]
    const fix_by = sunset_at
    return [{ version, state, fix_by, successor, migration_guide, callers }]
  })
}

function callerOf(
  { key_id, client_id, count, last_at }: Awaited<ReturnType<typeof listCallersInScope>>[number],
  names: ReadonlyMap<string, string>,
): VersionCallerJson {
  const id = key_id || client_id
  const name = names.get(id) ?? null
  const kind = name === null ? 'other' : key_id !== '' ? 'key' : 'client'
  return {
    kind,
    id: name === null ? null : id,
    name,
    count: Number(count),
    last_at: isoTime(Number(last_at)),
  }
}

async function readEndpoints(
  { db, clock }: PortalHealthDeps,
  { scope, scopes }: Principal,
  registrations: readonly OwnEndpoint[],
): Promise<EndpointHealthJson[]> {
  if (!scopes.has('webhooks:read')) return []
  const endpoints = registrations.map(({ no, health }) => ({
    no,
    scope,
    state: HEALTH_STATES[health]!,
  }))
  const [healthByNo, failedCounts] = await Promise.all([
    readHealth(db, endpoints, clock.now()),
    Promise.all(endpoints.map((endpoint) => countRecentlyFailed(db, endpoint))),
  ])
  return registrations.map((row, index) => {
    const { state, accepted_24h, waiting, last60 } = healthByNo.get(row.no)!
    const since = row.first_failure_at
    const isFailing = row.active === 1 && since !== null
    return {
      id: row.id,
      url: row.url,
      events: JSON.parse(row.events) as string[],
      active: row.active === 1,
      disabled_reason: row.disabled_reason,
      api_version: row.api_version,
      state,
      since: since === null ? null : isoTime(since),
      off_at: isFailing ? isoTime(since + FAILING_MS) : null,
      accepted_24h,
      waiting,
      failed: failedCounts[index]!,
      last60,
    }
  })
}
