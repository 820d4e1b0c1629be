/** The part of the operator: probes, `/`, audit trail, clock, figures, and what expires. */
import { countKeys } from '../access/store.ts'
import { describeConfig } from '../config/describe.ts'
import type { Perform } from '../idempotency/perform.ts'
import { purgeRecords } from '../idempotency/store.ts'
import type { Lister } from '../lists/list.ts'
import { purgeQuota } from '../quota/store.ts'
import { databaseCheck, drainCheck, migrationCheck, writeCheck } from '../system/health.ts'
import {
  auditEndpoint,
  clockEndpoint,
  probeEndpoints,
  rootEndpoint,
  systemEndpoint,
} from '../system/routes.ts'
import { followClock } from '../system/worker.ts'
import type { Ground, Part } from './ground.ts'
import type { Prepared } from './prepare.ts'
import type { SecretsPart } from './secrets.ts'

export interface SystemDeps {
  readonly list: Lister
  readonly perform: Perform
  readonly collections: readonly string[]
  readonly draining: () => boolean
  readonly secrets: Pick<SecretsPart, 'check'>
}

export function systemPart(
  ground: Ground,
  { service, versions, keeper, keys, trail }: Prepared,
  { list, perform, collections, draining, secrets }: SystemDeps,
): Part {
  const { db, log, clock, config } = ground
  const read = {
    database: databaseCheck(db),
    migrations: migrationCheck(db),
    draining: drainCheck(draining),
  }
  const write = { ...read, writes: writeCheck(db, clock), master_secret: secrets.check }
  let stopClock = () => {}
  return {
    endpoints: [
      ...probeEndpoints({ read, write }, log),
      rootEndpoint({ name: service.name, versions, collections }),
      auditEndpoint(list, trail),
      ...(keeper ? [clockEndpoint(keeper, perform)] : []),
      systemEndpoint({
        db,
        clock,
        log,
        checks: write,
        release: ground.release ?? 'unknown',
        node: process.version,
        startedMs: clock.elapsedMs(),
        configuration: describeConfig(config),
        figures: { keys: () => countKeys(db) },
      }),
    ],
    chores: {
      ...trail.chores,
      answers: () => purgeRecords(db, clock.now()),
      quota: () => purgeQuota(db, clock.now()),
    },
    start() {
      trail.start()
      if (keeper) stopClock = followClock(keeper, log)
    },
    async stop() {
      stopClock()
      await keys.idle()
      await trail.stop()
    },
  }
}
