/**
 * The ids of a request's record: its hash with the day, on which PostgreSQL drops old records. Two
 * nodes may assign a request to different days, and a repeat may follow on the next day. So a claim
 * also looks at the days before and after. A claim sees no record whose transaction is still open,
 * so claims near the end of a day lock the request.
 */
import { hash as digest } from 'node:crypto'
import { type Clock, steadyNow } from '../../kernel/clock.ts'
import { DAY_MS, dayIdAt } from '../../platform/storage/partitions/periods.ts'

/**
 * Longer than a transaction lasts and clocks of nodes differ: beyond it, the claims of one day have
 * committed before those of the next day begin.
 */
const NEAR_MS = 600_000

export interface RecordIds {
  /** The id of a new record. */
  readonly current: Buffer
  /** The ids of the days before and after, and of two days of a clock that was set. */
  readonly others: readonly [Buffer, Buffer, Buffer, Buffer]
  /** The id of the row that a claim locks first; undefined: none. It is of the day that ends. */
  readonly lock: Buffer | undefined
}

/** No record of another request has this hash. */
const hashOfLock = (hash: Buffer): Buffer => digest('sha256', hash, 'buffer')

/** The times of a claim, in epoch milliseconds. */
export interface RecordTimes {
  readonly now: number
  /** Records that end later are found: after a step of the clock, those of the time before it. */
  readonly since: number
}

/** Returns the times of a claim: by a clock that was set, records are found by both times. */
export function recordTimes(clock: Clock): RecordTimes {
  const now = steadyNow(clock)
  return { now, since: clock.formerNow?.() ?? now }
}

/** Returns the ids of the record with the hash. */
export function recordIdsAt(hash: Buffer, { now: nowMs, since }: RecordTimes): RecordIds {
  const idAt = (ms: number) => dayIdAt(hash, Math.max(0, ms))
  const at = (days: number) => idAt(nowMs + days * DAY_MS)
  const sinceDay = nowMs % DAY_MS
  const isNear = sinceDay < NEAR_MS || sinceDay >= DAY_MS - NEAR_MS
  const lock = isNear ? dayIdAt(hashOfLock(hash), Math.max(0, nowMs - NEAR_MS)) : undefined
  const [before, after] = [at(-1), at(1)]
  const isSame = since === nowMs
  const [former, formerBefore] = isSame ? [before, after] : [idAt(since), idAt(since - DAY_MS)]
  return { current: at(0), others: [before, after, former, formerBefore], lock }
}
