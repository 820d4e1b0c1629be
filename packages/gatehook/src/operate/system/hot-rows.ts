/**
 * Rows that requests of one customer change at the same time, each after the other: they wait for
 * one another, and no session of the database is at fault.
 */
import type { Database } from '../../platform/storage/database.ts'
import { selectRowQueues } from '../../platform/storage/lock-holders.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { PendingChanges } from '../../protocol/idempotency/pending-changes.ts'
import type { HealthCheck } from './health.ts'

interface HotRows {
  readonly polled: readonly PolledValue[]
  readonly warning: HealthCheck
}

export function createHotRows(
  db: Pick<Database, 'name'>,
  pending: Pick<PendingChanges, 'listCrowded'>,
): HotRows {
  let queued = 0
  const select = selectRowQueues(db)
  const receive: PolledValue['receive'] = (value) => {
    queued = Number(value)
  }
  return {
    polled: select ? [{ select: () => select, receive }] : [],
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
