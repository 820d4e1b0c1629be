/**
 * Whether the database still waits for a synchronous standby, which `GATEHOOK_DURABILITY=replica`
 * promises (§18.3). Each commit verifies it too (`platform/storage/postgres-session.ts`); the poll
 * of the node informs operators before the next write.
 */
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import { DURABILITY_LOST, SYNCHRONOUS_STANDBYS } from '../../platform/storage/server-check.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

interface Durability {
  /** Reads the setting with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Says that the node is not ready for writes. */
  readonly check: HealthCheck
  readonly metric: Metric
}

interface DurabilityOptions {
  readonly db: Pick<Database, 'name'>
  readonly durability: DatabaseTarget['durability']
  readonly log: Log
}

export function createDurability({ db, durability, log }: DurabilityOptions): Durability {
  let isLost = false
  const standbys: PolledValue = {
    select: () => SYNCHRONOUS_STANDBYS,
    receive(names) {
      if (names === null) return // of a standby, which serves reads
      const wasLost = isLost
      isLost = names === ''
      if (isLost && !wasLost) log.error(DURABILITY_LOST)
      if (wasLost && !isLost) log.info('the database has a synchronous standby again')
    },
  }
  return {
    polled: db.name === 'postgres' && durability === 'replica' ? [standbys] : [],
    check: () => (isLost ? 'The database has no synchronous replica for writes.' : undefined),
    metric: gauge(
      'gatehook_durability_lost',
      '1 while GATEHOOK_DURABILITY is replica and the database has no synchronous standby.',
      () => (isLost ? 1 : 0),
    ),
  }
}
