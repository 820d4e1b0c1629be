/**
 * The difference between the clock of this node and that of the database, on PostgreSQL. Nodes
 * compare times in rows: they tolerate 2 s. Above that a node warns; above 60 s it is not ready.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Database } from '../../platform/storage/database.ts'
import {
  CLOCK_REFUSE_MS,
  CLOCK_WARN_MS,
  clockDifferenceOf,
  describeClockDifference,
  serverClockOf,
} from '../../platform/storage/server-check.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Sql } from '../../platform/storage/sql.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

export interface ClockDifference {
  /** Measures the difference with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Says that the node is not ready, above 60 s. */
  readonly check: HealthCheck
  /** A warning for `/readyz`, above 2 s. */
  readonly warning: HealthCheck
  readonly metric: Metric
  /** Returns how far the node is ahead of the database, at least; 0 if it is behind. */
  readonly leadMs: () => number
}

interface ClockDifferenceOptions {
  readonly db: Pick<Database, 'name'>
  /** The clock of the machine. */
  readonly clock: Clock
  readonly log: Log
}

export function createClockDifference({ db, clock, log }: ClockDifferenceOptions): ClockDifference {
  let differenceMs = 0
  let hasWarned = false
  let sentMs = 0
  const describeAbove = (limitMs: number) => () =>
    Math.abs(differenceMs) > limitMs ? describeClockDifference(differenceMs) : undefined
  const warning = describeAbove(CLOCK_WARN_MS)
  const serverNow = serverClockOf(db)
  const polledClock = (now: Sql): PolledValue => ({
    select() {
      sentMs = clock.now()
      return now
    },
    receive(databaseNow) {
      differenceMs = clockDifferenceOf(Number(databaseNow), { sentMs, receivedMs: clock.now() })
      const sentence = warning()
      if (sentence && !hasWarned) log.warn({ clock_difference_ms: differenceMs }, sentence)
      hasWarned = sentence !== undefined
    },
  })
  return {
    polled: serverNow ? [polledClock(serverNow)] : [],
    check: describeAbove(CLOCK_REFUSE_MS),
    warning,
    leadMs: () => Math.max(0, -differenceMs),
    metric: gauge(
      'gatehook_clock_difference_seconds',
      'How far the clock of the database is ahead of that of the node; negative: it is behind it.',
      () => differenceMs / 1000,
    ),
  }
}
