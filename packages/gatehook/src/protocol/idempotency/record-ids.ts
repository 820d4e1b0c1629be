/**
 * The ids of a request's record: its hash with the day, on which PostgreSQL drops old records. Two
 * nodes may assign a request to different days, and a repeat may follow on the next day. So a claim
 * also looks at the days before and after. A claim sees no record whose transaction is still open,
 * so claims near the end of a day lock the request.
 */
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
  /** Keys of a lock that a claim needs; undefined: none. */
  readonly lockKeys: readonly [number, number] | undefined
}

/** Returns the ids of the record with the hash. */
export function recordIdsAt(hash: Buffer, nowMs: number): RecordIds {
  const at = (days: number) => dayIdAt(hash, Math.max(0, nowMs + days * DAY_MS))
  const sinceDay = nowMs % DAY_MS
  const isNear = sinceDay < NEAR_MS || sinceDay >= DAY_MS - NEAR_MS
  const lockKeys = isNear ? ([hash.readInt32BE(0), hash.readInt32BE(4)] as const) : undefined
  return { current: at(0), others: [at(-1), at(1)], lockKeys }
}
