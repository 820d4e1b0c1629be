/**
 * The clock of this node against that of the database, on PostgreSQL. Nodes compare times in rows:
 * they tolerate 2 s. Above that a node warns. Above 60 s it is not ready for writes, unless most
 * nodes agree with it; if most agree with the database, it serves no reads either: tokens would end
 * too early or too late. Reads alone store no time.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import {
  CLOCK_REFUSE_MS,
  describeClocks,
  NO_DIFFERENCE,
  readClocks,
  selectClocks,
} from '../../platform/nodes/server-clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import { gauge, type Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

export interface ClockDifference {
  /** Measures the difference with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Says that the clock of this node is wrong, above 60 s. */
  readonly check: HealthCheck
  /** Says that one of both clocks is wrong, above 60 s, and that it may be the node's. */
  readonly writeCheck: HealthCheck
  /** A warning for `/readyz`, above 2 s. */
  readonly warning: HealthCheck
  readonly metric: Metric
  /** Whether a clock is wrong, of this node or of the database, by more than 60 s. */
  readonly isDoubtful: () => boolean
  /** Returns how far the node is ahead of the database, at least; 0 if it is behind. */
  readonly leadMs: () => number
}

interface ClockDifferenceOptions {
  readonly db: Pick<Database, 'name'>
  /** The clock of the service, whose steps the database's decides. */
  readonly clock: Clock
  readonly log: Log
  /** The name of this node. */
  readonly node: string
}

export function createClockDifference(options: ClockDifferenceOptions): ClockDifference {
  const { db, clock, log, node } = options
  let reading = NO_DIFFERENCE
  let hasWarned = false
  let sentMs = 0
  const warning = () => describeClocks(reading)
  const describeWrong = (wrong: typeof reading.wrong) => () =>
    Math.abs(reading.differenceMs) > CLOCK_REFUSE_MS && reading.wrong === wrong
      ? warning()
      : undefined
  const [check, writeCheck] = [describeWrong('node'), describeWrong(undefined)]
  const select = selectClocks(db, node)
  const polledClocks = (clocks: NonNullable<typeof select>): PolledValue => ({
    select() {
      sentMs = clock.now()
      return clocks
    },
    receive(value) {
      reading = readClocks(value, { sentMs, receivedMs: clock.now() })
      const sentence = warning()
      const { differenceMs } = reading
      clock.judge?.(differenceMs)
      if (sentence && !hasWarned) log.warn({ clock_difference_ms: differenceMs }, sentence)
      hasWarned = sentence !== undefined
    },
  })
  return {
    polled: select ? [polledClocks(select)] : [],
    check,
    writeCheck,
    isDoubtful: () => Math.abs(reading.differenceMs) > CLOCK_REFUSE_MS,
    warning,
    leadMs: () => Math.max(0, -reading.differenceMs),
    metric: gauge(
      'gatehook_clock_difference_seconds',
      'How far the clock of the database is ahead of that of the node; negative: it is behind it.',
      () => reading.differenceMs / 1000,
    ),
  }
}
