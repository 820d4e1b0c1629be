/** SQL of the shared count of requests. */
import type { Clock } from '../../kernel/clock.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { createLocalLimiter, type Limiter } from './limiter.ts'
import { createSharedLimiter, type DrawRequests, type ReturnRequests } from './shared-limiter.ts'
import {
  addUse,
  currentSlices,
  latestMs,
  type QuotaRate,
  type Slice,
  sliceNumber,
  sumUsed,
} from './window.ts'

/** Inserts the slice or locks its row: concurrent draws of a subject wait for each other. */
const lock = prepareStatement(
  `INSERT INTO gh_quota (subject, period, used, used_at, expires_at) VALUES (?, ?, 0, ?, ?)
   ON CONFLICT (subject, period) DO UPDATE SET used = gh_quota.used`,
)
const findSlices = prepareStatement(
  `SELECT period, used, used_at FROM gh_quota
   WHERE subject = ? AND used_at > ? AND used > 0 ORDER BY used_at`,
)
const add = prepareStatement(
  `UPDATE gh_quota SET used = used + ?, used_at = ?, expires_at = ?
   WHERE subject = ? AND period = ?`,
)
/** Removes slices of the future: they would count again when the clock reaches their time. */
const removeFuture = prepareStatement('DELETE FROM gh_quota WHERE subject = ? AND used_at > ?')
const remove = prepareStatement(
  'UPDATE gh_quota SET used = used - ? WHERE subject = ? AND period = ? AND used >= ?',
)

async function readSlices(
  from: Reader,
  key: string,
  rate: QuotaRate,
  now: number,
): Promise<Slice[]> {
  const rows = await from.all(findSlices([key, now - rate.windowMs]))
  return rows.map((row) => ({
    no: row.period as number,
    used: row.used as number,
    lastMs: row.used_at as number,
  }))
}

/** Creates the function that reserves requests in the database. */
export const createDraw =
  (db: Database): DrawRequests =>
  async (key, rate, now, { least, most }) => {
    if (most === 0) {
      const slices = currentSlices(rate, await readSlices(db, key, rate, now), now)
      return { granted: 0, slices }
    }
    return db.write(async (tx) => {
      const sliceNo = sliceNumber(rate, now)
      await tx.run(lock([key, sliceNo, now, now + rate.windowMs]))
      const stored = await readSlices(tx, key, rate, now)
      const slices = currentSlices(rate, stored, now)
      if (slices !== stored) await tx.run(removeFuture([key, latestMs(now)]))
      const left = rate.limit - sumUsed(slices)
      if (left < least) return { granted: 0, slices }
      const granted = Math.min(most, left)
      await tx.run(add([granted, now, now + rate.windowMs, key, sliceNo]))
      return { granted, slices: addUse(rate, slices, now, granted), sliceNo }
    })
  }

/** Creates the function that returns reserved requests to the database. */
const createReturn =
  (db: Database): ReturnRequests =>
  (unused) =>
    db.write(async (tx) => {
      // In the order of keys, so that two nodes never wait for each other.
      for (const { key, sliceNo, count } of unused.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
        tx.runLater(remove([count, key, sliceNo, count]))
      }
    })

/**
 * Creates a limiter whose counts all nodes share. Where one process has the database, the counts
 * are in its memory. Default of `draw`: reserves requests in the database.
 */
export const createLimiter = (db: Database, clock: Clock, draw = createDraw(db)): Limiter =>
  db.dialect.shared ? createSharedLimiter(clock, draw, createReturn(db)) : createLocalLimiter(clock)
