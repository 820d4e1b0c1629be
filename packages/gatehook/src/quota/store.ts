/** SQL of the shared count. */
import type { Database } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import type { Draw } from './limiter.ts'
import { sliceOf, usedIn, withUse } from './window.ts'

/** Whoever draws next for the same subject waits here until this draw is done. */
const lock = fixed(
  `INSERT INTO gh_quota (subject, period, used, expires_at) VALUES (?, ?, 0, ?)
   ON CONFLICT (subject, period) DO UPDATE SET used = gh_quota.used`,
)
const counting = fixed(
  `SELECT period, used, expires_at FROM gh_quota
   WHERE subject = ? AND expires_at > ? AND used > 0 ORDER BY expires_at`,
)
const add = fixed(
  'UPDATE gh_quota SET used = used + ?, expires_at = ? WHERE subject = ? AND period = ?',
)
const purge = fixed('DELETE FROM gh_quota WHERE expires_at < ?')

export const drawFrom =
  (db: Database): Draw =>
  (key, rate, now, count) =>
    db.write(async (tx) => {
      const period = sliceOf(rate, now)
      await tx.run(lock([key, period, now + rate.windowMs]))
      const rows = await tx.all(counting([key, now]))
      const slices = rows.map((row) => ({
        no: row.period as number,
        used: row.used as number,
        untilMs: row.expires_at as number,
      }))
      const granted = Math.max(0, Math.min(count, rate.limit - usedIn(slices)))
      if (granted === 0) return { granted, slices }
      await tx.run(add([granted, now + rate.windowMs, key, period]))
      return { granted, slices: withUse(rate, slices, now, granted) }
    })

/** Slices that count no more. */
export const purgeQuota = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) => tx.run(purge([nowMs])))
