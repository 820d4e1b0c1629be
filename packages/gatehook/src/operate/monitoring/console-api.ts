/**
 * Serves the rows of monitoring under `/admin`, and maintains them: batches, retention
 * and the messages of open streams.
 */
import type { AuditContext } from '../../history/audit/store.ts'
import { namingCustomers } from '../../identity/access/admin-handlers.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Perform } from '../../protocol/idempotency/perform.ts'
import type { Chores } from '../system/janitor.ts'
import { createAttentionReader } from './attention.ts'
import type { AttentionSources } from './attention-kind.ts'
import { attentionRoutes } from './attention-routes.ts'
import { errorsRoute } from './errors.ts'
import { readFirstSteps } from './first-steps.ts'
import { keyUsageRoute } from './key-usage.ts'
import type { Topic } from './live-hub.ts'
import { LivePoller, POLL_MS } from './live-poller.ts'
import type { Monitoring } from './monitoring.ts'
import { monitoringOperations as operations } from './operations.ts'
import { FLUSH_MS } from './recorder.ts'
import type { ListedRequest } from './request-list.ts'
import type { RequestReader } from './request-reader.ts'
import { NO_HINTS, requestItem } from './request-view.ts'
import { createRetention } from './retention.ts'
import { seriesRoute } from './series-routes.ts'
import { streamRoute } from './stream-routes.ts'
import { versionTrafficRoutes } from './version-callers.ts'

const NO_STORE = { 'cache-control': 'no-store' }

export interface ConsoleApiOptions {
  readonly perform: Perform
  readonly audit: AuditContext
  readonly retentionDays: number
  readonly maxRows: number
  readonly maxBytes: number
  readonly versions: AttentionSources['versions']
  readonly jobTimeoutMs: AttentionSources['jobTimeoutMs']
  readonly lockHolders: AttentionSources['lockHolders']
  readonly fullServer: AttentionSources['fullServer']
  /** Stores the counts of versions. */
  readonly flushUsage: () => Promise<void>
  readonly nodes: AttentionSources['nodes']
}

export interface ConsoleApi {
  readonly routes: readonly Route[]
  readonly metrics: readonly Metric[]
  readonly chores: Chores
  /** Names of chores that every node runs. */
  readonly nodeChores: readonly string[]
  start(): Promise<void>
  stop(): Promise<void>
}

export function createConsoleApi(monitoring: Monitoring, options: ConsoleApiOptions): ConsoleApi {
  const { recorder, hub, flush } = monitoring
  const { store, clock, log, node, db } = monitoring.options
  const { retentionDays, maxRows, maxBytes, flushUsage, nodes } = options
  const figures = () => recorder.figures()
  const elapsedMs = () => clock.elapsedMs()
  const storedBytes = () => recorder.storedBytes()
  const bounds = { retentionDays, maxRows, maxBytes }
  const retention = createRetention({ store, clock, ...bounds, figures, storedBytes })
  const readAttention = createAttentionReader({
    ...{ db, monitoring: store, clock, nodes },
    isAway: () => db.fault() !== undefined,
    versions: options.versions,
    jobTimeoutMs: options.jobTimeoutMs,
    lockHolders: options.lockHolders,
    fullServer: options.fullServer,
    lastCause: () => recorder.lastCause(),
  })
  const itemOf = (record: ListedRequest) => requestItem(record, NO_HINTS)
  const publishRequest = (record: ListedRequest) =>
    hub.publish({ topic: 'requests', id: record.position, data: itemOf(record) })
  const now = () => clock.now()
  const poller = new LivePoller({
    hub,
    store,
    node,
    now,
    elapsedMs,
    readAttention,
    publishRequest,
    flush,
  })
  const readState = async (topic: Topic): Promise<unknown> => {
    if (topic === 'attention') return readAttention()
    if (topic !== 'first_steps') return undefined
    await flush()
    return readFirstSteps(store)
  }
  const stream = { hub, store, db, requestItem: itemOf, readState, flush, elapsedMs, log }
  const { cursorKeys } = monitoring.options
  const traffic = { db, store, clock, cursorKeys, flush, flushUsage }
  let stops: readonly (() => Promise<void>)[] = []
  return {
    routes: [
      keyUsageRoute({ ...monitoring.options, flush }),
      ...versionTrafficRoutes(traffic),
      ...[
        seriesRoute({ store, clock, flush }),
        errorsRoute({ store, clock, flush }),
        ...requestRoutes(monitoring.requests),
      ].map((route) => namingCustomers(db, route)),
      ...attentionRoutes({ ...options, db, clock, readAttention, flush }),
      streamRoute(stream),
    ],
    metrics: [recordMetric(figures), ...store.metrics],
    chores: { monitoring: retention.purge },
    nodeChores: ['monitoring'],
    async start() {
      const every = (intervalMs: number, failure: string, run: () => unknown) =>
        startInterval({ intervalMs, run, log, failure })
      stops = [
        every(FLUSH_MS, 'the request log could not be written', async () => {
          await recorder.flush({ counts: false })
          await retention.purgeIfGrown()
        }),
        every(POLL_MS, 'live messages could not be read', () => poller.poll()),
      ]
    },
    async stop() {
      await Promise.all(stops.map((stop) => stop()))
      const warn = (error: unknown) => log.warn({ err: error }, 'the request log is incomplete')
      // Commands of the CLI do not start it, and store nothing.
      if (stops.length > 0) await recorder.flush().catch(warn)
      await store.close()
    },
  }
}

const requestRoutes = (requests: RequestReader): Route[] => [
  implement(operations.requests, async ({ principal }, _, selection) =>
    respond(operations.requests, await requests.list(principal!, selection), NO_STORE),
  ),
  implement(operations.request, async ({ params, principal }) =>
    respond(operations.request, await requests.find(principal!, params.id!), NO_STORE),
  ),
]

const recordMetric = (figures: () => object): Metric => ({
  name: 'gatehook_request_log_records_total',
  help: 'Requests by what the request log did with them: stored, sampled out, dropped.',
  type: 'counter',
  read: () => Object.entries(figures()).map(([outcome, value]) => ({ value, labels: { outcome } })),
})
