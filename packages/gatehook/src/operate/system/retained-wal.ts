/** Reasons for which PostgreSQL keeps WAL until its disk is full: slots, its archive (§18.1). */
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthChecks } from './health.ts'
import { createReplicationSlots } from './replication-slots.ts'
import { createArchiveWatch } from './wal-archive.ts'

export interface RetainedWal {
  readonly polled: readonly PolledValue[]
  readonly warnings: HealthChecks
  /** Says why WAL fills the disk; undefined: it does not. */
  readonly describe: () => string | undefined
  readonly metrics: readonly Metric[]
}

export function createRetainedWal(db: Pick<Database, 'name'>): RetainedWal {
  const slots = createReplicationSlots(db)
  const archive = createArchiveWatch(db)
  return {
    polled: [...slots.polled, ...archive.polled],
    warnings: { replication_slots: slots.warning, archive: archive.warning },
    describe: () => archive.describe() ?? slots.describe(),
    metrics: [slots.metric, ...archive.metrics],
  }
}
