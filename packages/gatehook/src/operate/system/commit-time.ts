/**
 * How long a commit takes, and what it waits for. The node measures the writes of its own row,
 * which wait for no lock; the shortest of some counts, since any of them may wait for a connection.
 */
import {
  type CommitWaits,
  parseCommitWaits,
  selectCommitWaits,
} from '../../platform/storage/commit-waits.ts'
import type { Database } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

/** Writes among which the shortest is sought: those of 15 s on PostgreSQL. */
const WRITES = 3
/** A commit takes a few milliseconds on a disk that is fast. */
const SLOW_MS = 75
/** The round trips of such a write at most: its begin behind a pooler, statement and commit. */
const TRIPS = 3
/** Commits that have waited longer for a standby are named while they wait. */
const WAIT_MS = 1_000

export interface CommitTime {
  readonly polled: readonly PolledValue[]
  /** Notes the duration of a write of a single row. */
  note(ms: number): void
  readonly warning: HealthCheck
  readonly metric: Metric
}

const SLOW = 'Commits of the database are slow.'

/** @param tripMs returns the time of a present round trip without a commit; undefined at first */
export function createCommitTime(
  db: Pick<Database, 'name'>,
  tripMs: () => number | undefined,
): CommitTime {
  const durationsMs: number[] = []
  let waits: CommitWaits | undefined
  const shortestMs = () => {
    if (durationsMs.length < WRITES) return undefined
    return Math.min(...durationsMs)
  }
  const select = selectCommitWaits(db)
  const receive: PolledValue['receive'] = (value) => {
    waits = parseCommitWaits(value)
  }
  return {
    polled: select ? [{ select: () => select, receive }] : [],
    note(ms) {
      // A path that is slow at the time of this write alone is no slow disk.
      durationsMs.push(Math.max(0, ms - TRIPS * (tripMs() ?? 0)))
      if (durationsMs.length > WRITES) durationsMs.shift()
    },
    warning() {
      const detail = describeCommit(shortestMs(), waits)
      return detail && { message: SLOW, detail }
    },
    metric: {
      name: 'gatehook_storage_commit_seconds',
      help: `The shortest of the last ${WRITES} commits of the node's own row.`,
      type: 'gauge',
      read() {
        const ms = shortestMs()
        return ms === undefined ? [] : [{ value: ms / 1000 }]
      },
    },
  }
}

const standbyOf = ({ standby }: CommitWaits): string =>
  standby ? `the standby ${standby}` : 'a synchronous standby'

/** Returns a sentence about slow commits. */
export function describeCommit(
  ms: number | undefined,
  waits: CommitWaits | undefined,
): string | undefined {
  if (waits && waits.waiting > 0 && waits.waitedMs >= WAIT_MS) {
    const { waiting, waitedMs } = waits
    const commits = waiting === 1 ? '1 commit waits' : `${waiting} commits wait`
    return (
      `${commits} for ${standbyOf(waits)}, the oldest for ${Math.round(waitedMs / 1000)} s: it ` +
      'hangs or is overloaded, or its network loses packets. Their locks wait with them.'
    )
  }
  if (ms === undefined || ms < SLOW_MS) return undefined
  const takes = `A commit takes ${Math.round(ms)} ms`
  if (waits && waits.lagMs >= ms / 2) {
    const part = Math.round(Math.min(ms, waits.lagMs))
    return `${takes}, ${part} ms of them for ${standbyOf(waits)}: its disk or network is slow.`
  }
  const delay = waits && waits.delayMs > 0 ? `, and commit_delay is ${waits.delayMs} ms` : ''
  return `${takes}: the disk of the database is slow or overloaded${delay}.`
}
