/**
 * The ids of a request's record: its hash with the day, on which PostgreSQL drops old records. Two
 * nodes may assign a request to different days, and a repeat may follow on the next day. So a claim
 * also looks at the days before and after. A claim sees no record whose transaction is still open,
 * so claims near the end of a day lock the request.
 */
import { hash as digest } from 'node:crypto'
import { DAY_MS, dayIdAt } from '../../platform/storage/partitions/periods.ts'

/**
 * Longer than a transaction lasts and clocks of nodes differ: beyond it, the claims of one day have
 * committed before those of the next day begin.
 */
const NEAR_MS = 600_000

export interface RecordIds {
  /** The id of a new record. */
  readonly current: Buffer
  /** The ids of the days before and after. */
  readonly others: readonly [Buffer, Buffer]
  /** The id of the row that a claim locks first; undefined: none. It is of the day that ends. */
  readonly lock: Buffer | undefined
}

/** No record of another request has this hash. */
const hashOfLock = (hash: Buffer): Buffer => digest('sha256', hash, 'buffer')

/** Returns the ids of the record with the hash. */
export function recordIdsAt(hash: Buffer, nowMs: number): RecordIds {
  const at = (days: number) => dayIdAt(hash, Math.max(0, nowMs + days * DAY_MS))
  const sinceDay = nowMs % DAY_MS
  const isNear = sinceDay < NEAR_MS || sinceDay >= DAY_MS - NEAR_MS
  const lock = isNear ? dayIdAt(hashOfLock(hash), Math.max(0, nowMs - NEAR_MS)) : undefined
  return { current: at(0), others: [at(-1), at(1)], lock }
}
