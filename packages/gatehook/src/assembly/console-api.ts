/**
 * Assembles the console's view of the installation: `operate/monitoring/` and the parts it
 * observes.
 */
import type { Catalog } from '../declare/resources/catalog.ts'
import { resourceOverviewRoute } from '../declare/resources/overview.ts'
import type { Versions } from '../declare/versions/versions.ts'
import type { Administration } from '../identity/access/administration.ts'
import { type ConsoleApi, createConsoleApi } from '../operate/monitoring/console-api.ts'
import {
  countWaiting,
  type InstallationFigures,
  readInstallation,
} from '../operate/monitoring/installation-figures.ts'
import type { Monitoring } from '../operate/monitoring/monitoring.ts'
import { creationsRoute } from '../operate/monitoring/operator-creations.ts'
import { versionNoticeRoutes } from '../operate/monitoring/version-notices.ts'
import { searchRoute } from '../operate/search/routes.ts'
import type { CommitTime } from '../operate/system/commit-time.ts'
import type { FullServer } from '../operate/system/full-server.ts'
import type { HealthChecks } from '../operate/system/health.ts'
import { JobLog } from '../operate/system/job-log.ts'
import type { LockHolders } from '../operate/system/lock-holders.ts'
import type { Readiness } from '../operate/system/readiness.ts'
import type { Deliveries } from '../outbound/deliveries/deliveries.ts'
import { databaseFile } from '../platform/config/environment.ts'
import type { MailOutbox } from '../platform/mail/outbox.ts'
import { readDatabaseBytes } from '../platform/storage/database-bytes.ts'
import type { Metric } from '../platform/telemetry/metric.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Component, Foundation } from './foundation.ts'
import { assembleNodes } from './nodes.ts'

export interface ConsoleApiAssembly {
  readonly monitoring: Monitoring
  readonly perform: Perform
  readonly versioning: Pick<Versions, 'statusOf' | 'flush'>
  readonly catalog: Catalog
  readonly deliveries: Pick<Deliveries, 'figures'>
  readonly readiness: Readiness
  readonly nodeWarnings: HealthChecks
  readonly lockHolders: LockHolders
  readonly fullServer: FullServer
  readonly commitTime: CommitTime
  readonly administration: Administration
  readonly list: Lister
  readonly mailOutbox: MailOutbox
}

export interface ConsoleApiComponent extends Component {
  /** Reads figures of `GET /admin/system`. */
  readonly readFigures: () => Promise<InstallationFigures>
  /** The runs of background jobs, among the figures. */
  readonly jobs: JobLog
  /** Registers this node. */
  readonly nodes: Component
}

export function assembleConsoleApi(
  foundation: Foundation,
  assembly: ConsoleApiAssembly,
): ConsoleApiComponent {
  const { config, db, clock, random, trail } = foundation
  const { monitoring, catalog, versioning } = assembly
  const jobs = new JobLog()
  const { store, mode } = monitoring.options
  const nodes = assembleNodes(foundation, assembly)
  const console: ConsoleApi = createConsoleApi(monitoring, {
    perform: assembly.perform,
    audit: { clock, random, trail },
    retentionDays: config.requestLogDays,
    maxRows: config.requestLogMaxRows,
    maxBytes: config.requestLogMaxMib * 2 ** 20,
    versions: () => catalog.service.versions.flatMap(({ name }) => versioning.statusOf(name) ?? []),
    jobTimeoutMs: (name) => catalog.service.jobs.find((job) => job.name === name)?.timeoutMs,
    lockHolders: assembly.lockHolders.list,
    fullServer: assembly.fullServer.current,
    flushUsage: versioning.flush,
    nodes: nodes.registry,
  })
  const readFigures = () =>
    readInstallation({
      db,
      store,
      now: () => clock.now(),
      listNodes: nodes.registry.list,
      databaseBytes: () => readDatabaseBytes(foundation.db, databaseFile(foundation.config)),
      jobs: () => jobs.list(),
      requestLog: () => ({ mode, ...monitoring.recorder.figures() }),
    })
  const features = { test_clock: config.testClock, request_log: config.requestLog !== 'off' }
  const overview = resourceOverviewRoute(catalog, {
    db,
    features,
    isReference: foundation.isReference ?? false,
  })
  const search = searchRoute({
    db,
    tables: [...catalog.apiEntries].map(([name, { collection, definition }]) => ({
      collection: name,
      table: collection.table,
      idPrefix: definition.fields.id!.idPrefix,
    })),
    requests: store,
  })
  const notices = versionNoticeRoutes({
    admin: assembly.administration,
    list: assembly.list,
    perform: assembly.perform,
    outbox: assembly.mailOutbox,
    flushUsage: versioning.flush,
  })
  const creations = creationsRoute(db, clock)
  const routes = [...console.routes, ...notices, creations, overview, search]
  const queueMetric: Metric = {
    name: 'gatehook_webhook_queue_length',
    help: 'Deliveries of the installation that wait, at most 100,000.',
    type: 'gauge',
    read: async () => [{ value: (await countWaiting(db)).waiting }],
  }
  return {
    ...console,
    routes,
    readFigures,
    jobs,
    nodes,
    metrics: [...console.metrics, jobs.metric, queueMetric],
  }
}
