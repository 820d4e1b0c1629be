/**
 * How long PostgreSQL takes for a poll of the node: mostly the path between both machines. The
 * shortest of some polls counts, since any of them may wait behind a slow statement.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import { serverClockOf } from '../../platform/storage/server-check.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Sql } from '../../platform/storage/sql.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'

/** Polls among which the shortest is sought: 5 s of a busy node, 25 s of an idle one. */
const POLLS = 5
/** The newest polls, with which a write of the same time is compared. */
const RECENT = 2
/** A request has several round trips: it takes a second if each is longer. */
const SLOW_MS = 100

export interface RoundTrip {
  readonly polled: readonly PolledValue[]
  readonly warning: () => string | undefined
  /** The shortest of the newest ones, with the one that has no answer yet; undefined at first. */
  readonly shortestMs: () => number | undefined
  readonly metric: Metric
}

interface RoundTripOptions {
  readonly db: Pick<Database, 'name'>
  readonly clock: Pick<Clock, 'elapsedMs'>
}

export function createRoundTrip({ db, clock }: RoundTripOptions): RoundTrip {
  const durationsMs: number[] = []
  let sentMs = 0
  let isSent = false
  const shortestMs = () => (durationsMs.length < POLLS ? undefined : Math.min(...durationsMs))
  const recentMs = () => {
    const newest = durationsMs.at(-1)
    if (newest === undefined) return undefined
    const waitedMs = isSent ? clock.elapsedMs() - sentMs : 0
    return Math.min(...[...durationsMs, ...(waitedMs > newest ? [waitedMs] : [])].slice(-RECENT))
  }
  const polledValue = (select: Sql): PolledValue => ({
    select() {
      sentMs = clock.elapsedMs()
      isSent = true
      return select
    },
    receive() {
      isSent = false
      durationsMs.push(clock.elapsedMs() - sentMs)
      if (durationsMs.length > POLLS) durationsMs.shift()
    },
  })
  const select = serverClockOf(db)
  return {
    polled: select ? [polledValue(select)] : [],
    warning() {
      const ms = shortestMs()
      if (ms === undefined || ms < SLOW_MS) return undefined
      return (
        `The database takes at least ${Math.round(ms)} ms to answer this node: the network ` +
        'between them is slow, or one of both machines is overloaded.'
      )
    },
    shortestMs: recentMs,
    metric: {
      name: 'gatehook_database_round_trip_seconds',
      help: `The shortest of the last ${POLLS} round trips to PostgreSQL.`,
      type: 'gauge',
      read() {
        const ms = shortestMs()
        return ms === undefined ? [] : [{ value: ms / 1000 }]
      },
    },
  }
}
