/** SQL of the shared count of requests. */
import type { Clock } from '../../kernel/clock.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import {
  createLocalLimiter,
  createSharedLimiter,
  type DrawRequests,
  type Limiter,
} from './limiter.ts'
import { addUse, type Slice, sliceNumber, sumUsed } from './window.ts'

/**
 * Locks the row of the subject, which is of no period and no limit, and counts nothing. So draws
 * wait for each other also while nodes have different limits of the subject.
 */
const lock = prepareStatement(
  `INSERT INTO gh_quota (subject, period, under_limit, used, expires_at) VALUES (?, 0, 0, 0, ?)
   ON CONFLICT (subject, period, under_limit) DO UPDATE SET used = gh_quota.used`,
)
const findSlices = prepareStatement(
  `SELECT period, under_limit, used, expires_at FROM gh_quota
   WHERE subject = ? AND expires_at > ? AND used > 0 ORDER BY expires_at`,
)
const add = prepareStatement(
  `INSERT INTO gh_quota (subject, period, under_limit, used, expires_at) VALUES (?, ?, ?, ?, ?)
   ON CONFLICT (subject, period, under_limit)
   DO UPDATE SET used = gh_quota.used + excluded.used, expires_at = excluded.expires_at`,
)

async function readSlices(from: Reader, key: string, now: number): Promise<Slice[]> {
  const rows = await from.all(findSlices([key, now]))
  return rows.map((row) => ({
    no: row.period as number,
    limit: row.under_limit as number,
    used: row.used as number,
    untilMs: row.expires_at as number,
  }))
}

/** Creates the function that reserves requests in the database. */
export const createDraw =
  (db: Database): DrawRequests =>
  async (key, rate, now, { least, most }) => {
    if (most === 0) return { granted: 0, slices: await readSlices(db, key, now) }
    return db.write(async (tx) => {
      const untilMs = now + rate.windowMs
      await tx.run(lock([key, untilMs]))
      const slices = await readSlices(tx, key, now)
      const left = rate.limit - sumUsed(rate, slices)
      if (left < least) return { granted: 0, slices }
      const granted = Math.min(most, left)
      await tx.run(add([key, sliceNumber(rate, now), rate.limit, granted, untilMs]))
      return { granted, slices: addUse(rate, slices, now, granted) }
    })
  }

/**
 * Creates a limiter whose counts all nodes share. Where one process has the database, the counts
 * are in its memory. Default of `draw`: reserves requests in the database.
 */
export const createLimiter = (db: Database, clock: Clock, draw = createDraw(db)): Limiter =>
  db.dialect.shared ? createSharedLimiter(clock, draw) : createLocalLimiter(clock)
