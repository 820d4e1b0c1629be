/** Assembles the operator's routes: probes, `/`, audit trail, clock and system figures. */

import {
  countPromotions,
  followPromotions,
  reportLostEvents,
} from '../history/events/promotions.ts'
import { countKeys } from '../identity/access/store.ts'
import { extendSessions } from '../identity/people/operator-store.ts'
import { listSigningKeyStates } from '../identity/tokens/signing-keys.ts'
import { wallClock } from '../kernel/clock.ts'
import type { InstallationFigures } from '../operate/monitoring/installation-figures.ts'
import { restoreJson } from '../operate/restore/operations.ts'
import { restoreRoutes } from '../operate/restore/routes.ts'
import { isHeld, readRestoreState } from '../operate/restore/state.ts'
import { auditRoute, auditStreamRoute } from '../operate/system/audit-routes.ts'
import { createClockDifference } from '../operate/system/clock-difference.ts'
import { createDurability } from '../operate/system/durability.ts'
import {
  databaseCheck,
  drainCheck,
  migrationCheck,
  primaryCheck,
  writeCheck,
} from '../operate/system/health.ts'
import { machineMetrics } from '../operate/system/machine-facts.ts'
import { primaryMetric } from '../operate/system/metrics.ts'
import { readinessMetrics } from '../operate/system/readiness-metrics.ts'
import { replicationMetric } from '../operate/system/replication.ts'
import { clockRoutes, probeRoutes, rootRoute, systemRoute } from '../operate/system/routes.ts'
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
import type { SecretsComponent } from './secrets.ts'

/** Pages of every service. */
const LINKS = {
  console: '/console',
  portal: '/portal',
  docs: '/docs',
  api_catalog: '/.well-known/api-catalog',
}

const HELD_WARNING =
  'The data was restored: deliveries, jobs and mail are held until an operator releases them.'

export interface SystemAssembly {
  readonly list: Lister
  readonly perform: Perform
  readonly collections: readonly string[]
  readonly isDraining: () => boolean
  readonly secrets: Pick<SecretsComponent, 'check'>
  /** The figures of `GET /admin/system` that monitoring reads. */
  readonly figures: InstallationFigures
}

export function assembleSystem(
  { db, log, clock, random, config, recent, release = 'unknown', isPrimaryAway }: Foundation,
  { service, versions, keeper, keys, trail, indexes, repairs, schema, restore }: PreparedDatabase,
  { list, perform, collections, isDraining, secrets, figures }: SystemAssembly,
): Component {
  const clockDifference = createClockDifference({ db, clock: wallClock, log })
  const read = {
    database: databaseCheck(db),
    migrations: migrationCheck(db),
    schema: schema.check,
    draining: drainCheck(isDraining),
    clock: clockDifference.check,
  }
  const durability = createDurability({ db, durability: config.durability, log })
  const write = {
    ...read,
    primary: primaryCheck(isPrimaryAway),
    durability: durability.check,
    writes: writeCheck(db, clock),
    master_secret: secrets.check,
  }
  const warnings = {
    clock: clockDifference.warning,
    restore: () => (isHeld(restore.current()) ? HELD_WARNING : undefined),
  }
  let stopClock = async () => {}
  let stopPromotions = async () => {}
  return {
    routes: [
      ...probeRoutes({ read, write, warnings }, log),
      ...restoreRoutes(perform, { clock, random, trail }),
      rootRoute({
        name: service.name,
        versions,
        collections,
        links: { ...LINKS, ...(config.mcp === 'on' && { mcp: '/mcp' }) },
      }),
      auditRoute(list, trail),
      auditStreamRoute({ db, trail, clock, log }),
      ...(keeper ? clockRoutes(keeper, perform, extendSessions) : []),
      systemRoute({
        db,
        clock,
        log,
        checks: write,
        release,
        node: process.version,
        startedMs: clock.elapsedMs(),
        configuration: describeConfig(config),
        figures: {
          keys: () => countKeys(db),
          index_builds: async () =>
            (await indexes.report()).map(({ waitsFor, ...build }) => ({
              ...build,
              waits_for: waitsFor,
            })),
          restore: async () => restoreJson(await readRestoreState(db)),
          signing_keys: () => listSigningKeyStates(db, clock.now()),
          ...figures,
        },
      }),
    ],
    metrics: [
      clockDifference.metric,
      primaryMetric(isPrimaryAway),
      durability.metric,
      ...readinessMetrics({ read, write, clock, log }),
      ...stateMetrics({ db, clock, config }),
    ],
    polled: [...clockDifference.polled, ...durability.polled, restore.polled],
    chores: {
      ...trail.chores,
      answers: () => purgeRecords(db, clock.now()),
      quota: () => purgeExpired(db, [quotaCounts], clock.now()),
    },
    start() {
      trail.start()
      indexes.start()
      repairs.start()
      if (keeper) stopClock = followClock(keeper, log)
      const report = reportLostEvents({ db, log, clock, random, trail, recent })
      stopPromotions = followPromotions({ db, log, report })
    },
    async stop() {
      await indexes.stop()
      await repairs.stop()
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
  replicationMetric(db),
  countPromotions(db).metric,
]
