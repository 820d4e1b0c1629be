/** SQL of the shared count. */
import type { Database } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import type { Draw } from './limiter.ts'

const add = fixed(
  `INSERT INTO gh_quota (subject, period, used, expires_at) VALUES (?, ?, ?, ?)
   ON CONFLICT (subject, period) DO UPDATE SET used = gh_quota.used + excluded.used
   RETURNING used`,
)
const before = fixed('SELECT used FROM gh_quota WHERE subject = ? AND period = ?')
const purge = fixed('DELETE FROM gh_quota WHERE expires_at < ?')

export const drawFrom =
  (db: Database): Draw =>
  (key, rate, window, count) =>
    db.write(async (tx) => {
      const expiresAt = (window + 2) * rate.windowMs
      const now = await tx.get<{ used: number }>(add([key, window, count, expiresAt]))
      const last = await tx.get<{ used: number }>(before([key, window - 1]))
      return { window, used: now!.used, usedBefore: last?.used ?? 0 }
    })

/** Windows that count no more. */
export const purgeQuota = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) => tx.run(purge([nowMs])))
