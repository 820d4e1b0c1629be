/**
 * The difference between the clock of this node and that of the database, on PostgreSQL. Nodes
 * compare times in rows: they tolerate 2 s. Above that a node warns; above 60 s it is not ready.
 */
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import type { Database } from '../storage/database.ts'
import {
  CLOCK_REFUSE_MS,
  CLOCK_WARN_MS,
  describeClockDifference,
  readClockDifference,
} from '../storage/server-check.ts'
import type { HealthCheck } from './health.ts'
import { gauge, type Metric } from './metrics.ts'

const INTERVAL_MS = 15_000

export interface ClockDifference {
  /** Measures the difference. An interval runs it. */
  measure(): Promise<void>
  /** Says that the node is not ready, above 60 s. */
  readonly check: HealthCheck
  /** A warning for `/readyz`, above 2 s. */
  readonly warning: HealthCheck
  readonly metric: Metric
  /** @returns Stops measuring. */
  start(): () => Promise<void>
}

interface ClockDifferenceOptions {
  readonly db: Database
  /** The clock of the machine. */
  readonly clock: Clock
  readonly log: Log
}

export function createClockDifference(options: ClockDifferenceOptions): ClockDifference {
  const { db, clock, log } = options
  let differenceMs = 0
  let hasWarned = false
  const describeAbove = (limitMs: number) => () =>
    Math.abs(differenceMs) > limitMs ? describeClockDifference(differenceMs) : undefined
  const warning = describeAbove(CLOCK_WARN_MS)
  const measure = async () => {
    differenceMs = (await readClockDifference(db, clock)) ?? 0
    const sentence = warning()
    if (sentence && !hasWarned) log.warn({ clock_difference_ms: differenceMs }, sentence)
    hasWarned = sentence !== undefined
  }
  return {
    measure,
    check: describeAbove(CLOCK_REFUSE_MS),
    warning,
    metric: gauge(
      'gatehook_clock_difference_seconds',
      'How far the clock of the database is ahead of the clock of the node; 0 on SQLite.',
      () => differenceMs / 1000,
    ),
    start: () =>
      db.name === 'postgres'
        ? startInterval({
            intervalMs: INTERVAL_MS,
            run: measure,
            log,
            failure: 'the clock of the database could not be read',
          })
        : async () => {},
  }
}
