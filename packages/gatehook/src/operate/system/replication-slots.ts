/** Replication slots that no standby reads, and for which the server keeps its WAL (§18.1). */
import type { Database } from '../../platform/storage/database.ts'
import {
  parseSlots,
  type ReplicationSlot,
  selectSlots,
} from '../../platform/storage/replication-slots.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

/** A standby that restarts reads its slot again before. */
const FORGOTTEN_BYTES = 128 * 2 ** 20

export interface ReplicationSlots {
  readonly polled: readonly PolledValue[]
  readonly warning: HealthCheck
  /** Says which slots fill the disk; undefined: none. */
  readonly describe: () => string | undefined
  readonly metric: Metric
}

export function createReplicationSlots(db: Pick<Database, 'name'>): ReplicationSlots {
  let slots: readonly ReplicationSlot[] = []
  const select = selectSlots(db)
  const receive: PolledValue['receive'] = (value) => {
    slots = parseSlots(value)
  }
  const describe = () => {
    const forgotten = slots.filter(({ isActive, bytes }) => !isActive && bytes >= FORGOTTEN_BYTES)
    return forgotten.length === 0 ? undefined : forgotten.map(describeSlot).join(' ')
  }
  return {
    polled: select ? [{ select: () => select, receive }] : [],
    describe,
    warning() {
      const detail = describe()
      return detail && { message: 'The database keeps WAL that no standby reads.', detail }
    },
    metric: {
      name: 'gatehook_replication_slot_bytes',
      help: 'WAL that PostgreSQL keeps for a replication slot; `active`: a standby reads it.',
      type: 'gauge',
      read: () =>
        slots.map(({ name, isActive, bytes }) => ({
          value: bytes,
          labels: { slot: name, active: String(isActive) },
        })),
    },
  }
}

const describeSlot = ({ name, bytes }: ReplicationSlot): string =>
  `No standby reads the replication slot ${name}, for which the server keeps ` +
  `${Math.round(bytes / 2 ** 20)} MiB of WAL, until its disk is full: SELECT ` +
  `pg_drop_replication_slot('${name}'), or start its standby again.`
