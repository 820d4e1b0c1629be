/** Assembles the readiness of a node: its checks, and the values and metrics that they read. */
import { wallClock } from '../kernel/clock.ts'
import { unawaited } from '../kernel/unawaited.ts'
import { isHeld } from '../operate/restore/state.ts'
import { type CommitTime, createCommitTime } from '../operate/system/commit-time.ts'
import { createDurability } from '../operate/system/durability.ts'
import { createBlockWatch } from '../operate/system/event-loop.ts'
import { createFullServer, type FullServer } from '../operate/system/full-server.ts'
import {
  addressWarning,
  databaseCheck,
  directWarning,
  drainCheck,
  type HealthChecks,
  heartbeatChecks,
  migrationCheck,
  newInstallationWarning,
  poolerWarning,
  primaryCheck,
  writeChecks,
} from '../operate/system/health.ts'
import { createHotRows } from '../operate/system/hot-rows.ts'
import { createLockHolders, type LockHolders } from '../operate/system/lock-holders.ts'
import { certificateWarning } from '../operate/system/machine-facts.ts'
import { primaryMetrics } from '../operate/system/primary-metrics.ts'
import { createReadiness, type Readiness } from '../operate/system/readiness.ts'
import { readinessMetrics } from '../operate/system/readiness-metrics.ts'
import { createRetainedWal } from '../operate/system/retained-wal.ts'
import { createRoundTrip } from '../operate/system/round-trip.ts'
import type { Metric } from '../platform/telemetry/metric.ts'
import type { Component, Foundation } from './foundation.ts'
import { assembleMachineWatches } from './machine-watches.ts'
import type { PreparedDatabase } from './prepare-database.ts'
import type { SecretsComponent } from './secrets.ts'

export interface ReadinessComponent extends Required<Pick<Component, 'metrics' | 'polled'>> {
  readonly readiness: Readiness
  readonly lockHolders: LockHolders
  readonly fullServer: FullServer
  readonly commitTime: CommitTime
  /** Faults that the node tolerates. */
  readonly warnings: HealthChecks
  /** Those of them that no item of attention of their own names. */
  readonly nodeWarnings: HealthChecks
}

const HELD_WARNING =
  'The data was restored: deliveries, jobs and mail are held until an operator releases them.'

const unawaitedMetric: Metric = {
  name: 'gatehook_unawaited_rejections_total',
  help: 'Promises of the process that were rejected and that no code awaits.',
  type: 'counter',
  read: () => [{ value: unawaited.total() }],
}

const UNAWAITED_WARNING =
  'A promise of this process was rejected, and no code awaits it: a part of its work may have ' +
  'stopped. The log names it; correct the code, and restart the node.'

/** The checks that query nothing: a poll, a watch or this process knows the result. */
const FREE = new Set(['draining', 'clock', 'write_clock', 'primary', 'durability'])

/** Warnings of where the addresses of the database lead, and how. */
const databaseWarnings = (
  { db, clock, primaryFault, publicUrl }: Foundation,
  isCreated: boolean,
): HealthChecks => ({
  addresses: addressWarning(primaryFault, db),
  direct: directWarning(primaryFault, db),
  pooler: poolerWarning(db),
  new_installation: newInstallationWarning(isCreated && publicUrl().startsWith('https:'), clock),
})

export function assembleReadiness(
  foundation: Foundation,
  {
    schema,
    clockDifference,
    clockSteps,
    pending,
    firstRun,
  }: Pick<PreparedDatabase, 'schema' | 'clockDifference' | 'clockSteps' | 'pending' | 'firstRun'>,
  {
    isDraining,
    secrets,
  }: { readonly isDraining: () => boolean; readonly secrets: Pick<SecretsComponent, 'check'> },
): ReadinessComponent {
  const { db, log, clock, config, restore, primaryFault, tables } = foundation
  const durability = createDurability({
    ...{ db, clock, log, tables },
    durability: config.durability,
  })
  const lockHolders = createLockHolders({ db, clock, log })
  const hotRows = createHotRows(db, pending)
  const fullServer = createFullServer({ db, clock, log })
  const roundTrip = createRoundTrip({ db, clock })
  const commitTime = createCommitTime(db, roundTrip.shortestMs)
  const wal = createRetainedWal(db)
  const machine = assembleMachineWatches(config, { clock, log })
  const nodeWarnings = {
    clock: async () => (await clockDifference.warning()) ?? clockSteps.warning(),
    schema: schema.warning,
    ...databaseWarnings(foundation, firstRun.created),
    event_loop: createBlockWatch(wallClock).warning,
    round_trip: roundTrip.warning,
    rejections: () => (unawaited.total() > 0 ? UNAWAITED_WARNING : undefined),
    ...machine.warnings,
    hot_rows: hotRows.warning,
    commits: commitTime.warning,
    ...wal.warnings,
  }
  const read = {
    database: databaseCheck(db),
    migrations: migrationCheck(db),
    schema: schema.check,
    draining: drainCheck(isDraining),
    clock: clockDifference.check,
  }
  const primary = primaryCheck(primaryFault, db)
  const write = {
    ...read,
    write_clock: clockDifference.writeCheck,
    primary,
    durability: durability.check,
    ...writeChecks(db, clock, wal.describe),
    master_secret: secrets.check,
  }
  const readiness = createReadiness({
    ...{ read, write, free: FREE },
    heartbeat: heartbeatChecks(db, write),
    explainDelay: () => lockHolders.fileWarning() ?? roundTrip.warning(),
    explainPrimary: () => primary() ?? poolerWarning(db)(),
    ...{ clock, log },
  })
  return {
    readiness,
    lockHolders,
    fullServer,
    commitTime,
    warnings: {
      ...nodeWarnings,
      certificate: certificateWarning({ file: config.tlsCert ?? undefined, clock, log }),
      locks: lockHolders.warning,
      connections: fullServer.warning,
      restore: () => (isHeld(restore.current()) ? HELD_WARNING : undefined),
    },
    nodeWarnings,
    polled: [
      clockDifference,
      durability,
      lockHolders,
      fullServer,
      roundTrip,
      hotRows,
      commitTime,
      wal,
    ].flatMap(({ polled }) => polled),
    metrics: [
      clockDifference.metric,
      ...primaryMetrics(primaryFault, db),
      durability.metric,
      ...[lockHolders, fullServer, roundTrip, commitTime].map(({ metric }) => metric),
      unawaitedMetric,
      ...[machine, wal].flatMap(({ metrics }) => metrics),
      ...readinessMetrics(readiness),
    ],
  }
}
