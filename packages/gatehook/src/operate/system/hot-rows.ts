/**
 * Rows that requests of one customer change at the same time, each after the other: they wait for
 * one another, and no session of the database is at fault.
 */
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { raw } from '../../platform/storage/sql.ts'
import type { PendingChanges } from '../../protocol/idempotency/pending-changes.ts'
import type { HealthCheck } from './health.ts'

/** Of sessions in the queue of a row, behind those that wait for its transaction. */
const ROW_QUEUES = raw(`(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND wait_event = 'tuple')`)

interface HotRows {
  readonly polled: readonly PolledValue[]
  readonly warning: HealthCheck
}

export function createHotRows(
  { name }: Pick<Database, 'name'>,
  pending: Pick<PendingChanges, 'listCrowded'>,
): HotRows {
  let queued = 0
  const receive: PolledValue['receive'] = (value) => {
    queued = Number(value)
  }
  return {
    polled: name === 'postgres' ? [{ select: () => ROW_QUEUES, receive }] : [],
    warning() {
      const crowded = queued > 0 ? pending.listCrowded() : []
      if (crowded.length === 0) return undefined
      const sentences = crowded.map(
        ({ count, customer, method, path, route }) =>
          `${count} requests of the customer ${customer} wait for one row: ${method} ${path} ` +
          `(${route}). Let the customer change it less often, or limit its requests.`,
      )
      return { message: 'Requests wait for one row.', detail: sentences.join(' ') }
    },
  }
}
