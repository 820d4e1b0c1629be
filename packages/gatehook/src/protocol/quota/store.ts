/** SQL of the shared count of requests. */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import {
  createLocalLimiter,
  createSharedLimiter,
  type DrawRequests,
  type Limiter,
} from './limiter.ts'
import { addUse, sliceNumber, sumUsed } from './window.ts'

/** Inserts the slice or locks its row: concurrent draws of a subject wait for each other. */
const lock = prepareStatement(
  `INSERT INTO gh_quota (subject, period, used, expires_at) VALUES (?, ?, 0, ?)
   ON CONFLICT (subject, period) DO UPDATE SET used = gh_quota.used`,
)
const findSlices = prepareStatement(
  `SELECT period, used, expires_at FROM gh_quota
   WHERE subject = ? AND expires_at > ? AND used > 0 ORDER BY expires_at`,
)
const add = prepareStatement(
  'UPDATE gh_quota SET used = used + ?, expires_at = ? WHERE subject = ? AND period = ?',
)

/** Creates the function that reserves requests in the database. */
export const createDraw =
  (db: Database): DrawRequests =>
  (key, rate, now, { least, most }) =>
    db.write(async (tx) => {
      const period = sliceNumber(rate, now)
      await tx.run(lock([key, period, now + rate.windowMs]))
      const rows = await tx.all(findSlices([key, now]))
      const slices = rows.map((row) => ({
        no: row.period as number,
        used: row.used as number,
        untilMs: row.expires_at as number,
      }))
      const left = rate.limit - sumUsed(slices)
      if (left < least) return { granted: 0, slices }
      const granted = Math.min(most, left)
      await tx.run(add([granted, now + rate.windowMs, key, period]))
      return { granted, slices: addUse(rate, slices, now, granted) }
    })

/**
 * Creates a limiter whose counts all nodes share. Where one process has the database, the counts
 * are in its memory. Default of `draw`: reserves requests in the database.
 */
export const createLimiter = (db: Database, clock: Clock, draw = createDraw(db)): Limiter =>
  db.dialect.shared ? createSharedLimiter(clock, draw) : createLocalLimiter(clock)
