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

async function readSlices(from: Reader, key: string, now: number): Promise<Slice[]> {
  const rows = await from.all(findSlices([key, now]))
  return rows.map((row) => ({
    no: row.period as number,
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
      const period = sliceNumber(rate, now)
      await tx.run(lock([key, period, now + rate.windowMs]))
      const slices = await readSlices(tx, key, now)
      const left = rate.limit - sumUsed(slices)
      if (left < least) return { granted: 0, slices }
      const granted = Math.min(most, left)
      await tx.run(add([granted, now + rate.windowMs, key, period]))
      return { granted, slices: addUse(rate, slices, now, granted) }
    })
  }

/**
 * Creates a limiter whose counts all nodes share. Where one process has the database, the counts
 * are in its memory. Default of `draw`: reserves requests in the database.
 */
export const createLimiter = (db: Database, clock: Clock, draw = createDraw(db)): Limiter =>
  db.dialect.shared ? createSharedLimiter(clock, draw) : createLocalLimiter(clock)
