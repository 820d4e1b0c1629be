/** Figures of the installation (`GET /admin/system`): nodes, queue of deliveries, storage, jobs. */

import { isoTime } from '../../kernel/time.ts'
import { countQueued } from '../../outbound/deliveries/summary-store.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { readApplied } from '../../platform/storage/migrate.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { JobRun } from '../system/job-log.ts'
import type { SystemFigures } from '../system/operations.ts'
import { findDifferences } from './node-differences.ts'
import type { NodeState } from './nodes.ts'
import { SHORTEST_STEP_S } from './steps.ts'
import type { MonitoringStore } from './store.ts'

/** Waiting deliveries are counted up to this number. */
const WAITING_MAX = 100_000
const RATE_PERIOD_S = 60

export interface InstallationSources {
  /** The engine's database. */
  readonly db: Reader
  readonly store: MonitoringStore
  readonly now: () => number
  readonly listNodes: () => Promise<readonly NodeState[]>
  /** Returns the bytes of the engine's database. */
  readonly databaseBytes: () => Promise<number>
  readonly jobs: () => readonly (JobRun & { readonly name: string })[]
  readonly requestLog: () => SystemFigures['request_log']
}

export type InstallationFigures = Omit<
  SystemFigures,
  'keys' | 'signing_keys' | 'index_builds' | 'restore'
>

/** Reads the figures, those of the nodes once. */
export async function readInstallation(sources: InstallationSources): Promise<InstallationFigures> {
  const { db, store, now, databaseBytes, listNodes, jobs, requestLog } = sources
  const nodes = await listNodes()
  const nowMs = now()
  return {
    nodes: nodes.map(({ id, name, role, since, seenAt, release, state, reasons, warnings }) => ({
      id,
      name,
      role,
      state,
      reasons: [...reasons],
      warnings: warnings.map(({ check, message }) => ({ check, message })),
      since: isoTime(since),
      seen_at: isoTime(seenAt),
      report_age_s: Math.max(0, Math.floor((nowMs - seenAt) / 1000)),
      release,
    })),
    node_differences: findDifferences(nodes).map(({ values, columns, ...difference }) => ({
      ...difference,
      values: values.map(({ value, nodes: names }) => ({ value, nodes: [...names] })),
      columns: [...columns],
    })),
    queue: await readQueue(sources, nodes),
    storage: {
      bytes: await databaseBytes(),
      monitoring_bytes: await store.bytes(),
      migrations: (await readApplied(db)).total,
    },
    jobs: jobs().map(({ name, lastAt, tookMs, ok, rows }) => ({
      name,
      last_at: isoTime(lastAt),
      took_ms: tookMs,
      ok,
      rows: rows ?? null,
    })),
    request_log: requestLog(),
  }
}

/** Counts the deliveries that wait, and says whether there are more. */
export async function countWaiting(db: Reader) {
  const count = await countQueued(db, WAITING_MAX + 1)
  return { waiting: Math.min(count, WAITING_MAX), waiting_is_bound: count > WAITING_MAX }
}

async function readQueue(
  { db, store, now }: InstallationSources,
  nodes: readonly NodeState[],
): Promise<SystemFigures['queue']> {
  const waiting = await countWaiting(db)
  const states = nodes.filter(({ state }) => state !== 'gone')
  const ageMs = Math.max(0, ...states.map(({ queueAgeMs }) => queueAgeMs))
  const fromS = Math.floor(now() / 1000) - RATE_PERIOD_S
  const attempts = await store.get(sql`SELECT CAST(sum(delivered + failed) AS BIGINT) AS total
    FROM gh_monitoring_deliveries WHERE step = ${SHORTEST_STEP_S} AND at >= ${fromS}`)
  return {
    ...waiting,
    oldest_at: ageMs === 0 ? null : isoTime(now() - ageMs),
    in_flight: states.reduce((sum, { inFlight }) => sum + inFlight, 0),
    rate_per_s: Math.round((Number(attempts?.total ?? 0) / RATE_PERIOD_S) * 100) / 100,
  }
}
