/** Assembles the operator's routes: probes, `/`, audit trail, clock and system figures. */

import {
  countPromotions,
  followPromotions,
  reportLostEvents,
} from '../history/events/promotions.ts'
import { countKeys } from '../identity/access/store.ts'
import { extendSessions } from '../identity/people/operator-store.ts'
import { listSigningKeyStates } from '../identity/tokens/signing-keys.ts'
import type { InstallationFigures } from '../operate/monitoring/installation-figures.ts'
import { restoreJson } from '../operate/restore/operations.ts'
import { restoreRoutes } from '../operate/restore/routes.ts'
import { readRestoreState } from '../operate/restore/state.ts'
import { auditRoute, auditStreamRoute } from '../operate/system/audit-routes.ts'
import { machineMetrics } from '../operate/system/machine-facts.ts'
import { replicationMetric } from '../operate/system/replication.ts'
import { clockRoutes, probeRoutes, rootRoute, systemRoute } from '../operate/system/routes.ts'
import { mountPathOf } from '../platform/config/config.ts'
import { describeConfig } from '../platform/config/describe.ts'
import { dataFolder } from '../platform/config/environment.ts'
import { followClock } from '../platform/storage/clock-setting.ts'
import { purgeExpired } from '../platform/storage/purge.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import { purgeRecords } from '../protocol/idempotency/store.ts'
import type { Lister } from '../protocol/lists/list.ts'
import { quotaCounts } from '../protocol/quota/tables.ts'
import type { Component, Foundation } from './foundation.ts'
import type { PreparedDatabase } from './prepare-database.ts'
import type { ReadinessComponent } from './readiness.ts'

/** Pages of every service. */
const linksOf = (mounted: Foundation['mounted']) => ({
  ...(mounted?.pages !== false && { console: '/console', portal: '/portal' }),
  docs: '/docs',
  api_catalog: '/.well-known/api-catalog',
})

/** Keys are counted up to this number. */
const KEYS_MAX = 100_000

export interface SystemAssembly {
  readonly list: Lister
  readonly perform: Perform
  readonly collections: readonly string[]
  readonly ready: ReadinessComponent
  /** The figures of `GET /admin/system` that monitoring reads. */
  readonly readFigures: () => Promise<InstallationFigures>
}

export function assembleSystem(
  { db, log, clock, random, config, recent, release = 'unknown', mounted }: Foundation,
  { service, versions, keeper, keys, trail, indexes, restore }: PreparedDatabase,
  { list, perform, collections, ready, readFigures }: SystemAssembly,
): Component {
  let stopClock = async () => {}
  let stopPromotions = async () => {}
  return {
    routes: [
      ...probeRoutes({ readiness: ready.readiness, tolerated: ready.warnings, clock, log }),
      ...restoreRoutes(perform, { clock, random, trail }),
      rootRoute({
        name: service.name,
        versions,
        collections,
        links: { ...linksOf(mounted), ...(config.mcp === 'on' && { mcp: '/mcp' }) },
        mountPath: mountPathOf(config),
      }),
      auditRoute(list, trail),
      auditStreamRoute({ db, trail, clock, log }),
      ...(keeper ? clockRoutes(keeper, perform, extendSessions) : []),
      systemRoute({
        db,
        clock,
        readiness: ready.readiness,
        warnings: ready.warnings,
        log,
        release,
        node: process.version,
        startedMs: clock.elapsedMs(),
        configuration: describeConfig(config),
        readFigures: async () => ({
          ...(await readFigures()),
          keys: await countKeys(db, KEYS_MAX),
          index_builds: (await indexes.report()).map(({ waitsFor, ...build }) => ({
            ...build,
            waits_for: waitsFor,
          })),
          restore: restoreJson(await readRestoreState(db)),
          signing_keys: await listSigningKeyStates(db, clock.now()),
        }),
      }),
    ],
    metrics: [...ready.metrics, ...stateMetrics({ db, clock, config })],
    polled: [...ready.polled, restore.polled],
    chores: {
      ...trail.chores,
      answers: () => purgeRecords(db, clock.now()),
      quota: () => purgeExpired(db, [quotaCounts], clock.now()),
    },
    start() {
      trail.start()
      if (keeper) stopClock = followClock(keeper, log)
      const report = reportLostEvents({ db, log, clock, random, trail, recent })
      stopPromotions = followPromotions({ db, log, report })
    },
    async stop() {
      await stopClock()
      await stopPromotions()
      await keys.idle()
      await trail.stop()
    },
  }
}

/** The metrics of the machine and the database that this node reads when they are requested. */
const stateMetrics = ({ db, clock, config }: Pick<Foundation, 'db' | 'clock' | 'config'>) => [
  ...machineMetrics({
    db,
    clock,
    folder: dataFolder(config),
    certFile: config.tlsCert ?? undefined,
  }),
  replicationMetric(db, clock),
  countPromotions(db).metric,
]
