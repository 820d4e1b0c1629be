/**
 * The ids of a request's record: its hash with the day, on which PostgreSQL drops old records. Two
 * nodes may assign a request to different days, and a repeat may follow on the next day. So a claim
 * also looks at the days before and after. A claim sees no record whose transaction is still open,
 * so claims near the end of a day lock the request.
 */
import type { Reader, Row } from '../../platform/storage/database.ts'
import { dayIdAt } from '../../platform/storage/partitions/catalog.ts'
import { DAY_MS } from '../../platform/storage/partitions/periods.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'

/** Since this migration, releases find records under ids with a day. */
const DAYS_MIGRATION = 53
/**
 * Longer than a transaction lasts and clocks of nodes differ: beyond it, the claims of one day have
 * committed before those of the next day begin.
 */
const NEAR_MS = 600_000
/** Records of the time before days have expired then. */
const FORMER_MS = 2 * DAY_MS

export interface RecordIds {
  /** The id of a new record. */
  readonly current: Buffer
  /** Other ids of an existing record. */
  readonly others: readonly [Buffer, Buffer, Buffer]
  /** Whether `others` may exist. */
  readonly hasDays: boolean
  /** Keys of a lock that a claim needs; undefined: none. */
  readonly lockKeys: readonly [number, number] | undefined
}

/**
 * Returns the ids of the record with the hash.
 *
 * @param beginMs - the instant from which on ids have a day; undefined: the migration is missing
 */
export function recordIdsAt(hash: Buffer, nowMs: number, beginMs: number | undefined): RecordIds {
  if (beginMs === undefined) {
    return { current: hash, others: [hash, hash, hash], hasDays: false, lockKeys: undefined }
  }
  const at = (days: number) => dayIdAt(hash, Math.max(0, nowMs + days * DAY_MS))
  const sinceDay = nowMs % DAY_MS
  const isNear = sinceDay < NEAR_MS || sinceDay >= DAY_MS - NEAR_MS
  const lockKeys = isNear ? ([hash.readInt32BE(0), hash.readInt32BE(4)] as const) : undefined
  if (nowMs < beginMs) {
    return { current: hash, others: [at(-1), at(0), at(1)], hasDays: true, lockKeys }
  }
  const former = nowMs < beginMs + FORMER_MS ? hash : at(-1)
  return { current: at(0), others: [at(-1), at(1), former], hasDays: true, lockKeys }
}

/** Nodes of the previous release, which write hashes alone, must end within this. */
const ROLLING_CHANGE_MS = 3 * DAY_MS
/** All migrations of a new database are applied within this. */
const CREATION_MS = 60_000

const applied = prepareStatement(`SELECT
  (SELECT applied_at FROM gh_migrations WHERE number = ${DAYS_MIGRATION}) AS at,
  (SELECT min(applied_at) FROM gh_migrations) AS created`)

/** Returns a function that returns the ids of the record with a hash at an instant. */
export function createRecordIds(db: Reader) {
  const readBegin = createDaysBegin(db)
  return async (hash: Buffer): Promise<(nowMs: number) => RecordIds> => {
    const beginMs = await readBegin()
    return (nowMs) => recordIdsAt(hash, nowMs, beginMs)
  }
}

/**
 * Returns a function that reads from when on ids have a day: always in a new database, else from
 * the start of a day that follows the migration by at least three days. It is not part of the data
 * that `gatehook move` copies: records of the source are found under both kinds of ids.
 */
function createDaysBegin(db: Reader): () => Promise<number | undefined> {
  let beginMs: number | undefined
  return async () => {
    if (beginMs !== undefined) return beginMs
    const { at, created } = (await db.get<Row & { at: number | null; created: number }>(
      applied([]),
    ))!
    if (at === null) return undefined
    beginMs = at - created < CREATION_MS ? at : firstDayAfter(at + ROLLING_CHANGE_MS)
    return beginMs
  }
}

const firstDayAfter = (ms: number): number => Math.ceil(ms / DAY_MS) * DAY_MS
