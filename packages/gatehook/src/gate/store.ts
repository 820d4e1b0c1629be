/** SQL of the gate: who calls a version, summed over routes (§8.9). Only reads. */
import type { Reader } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

export interface Caller {
  /** `cus_…`, or `anonymous`. */
  readonly customer: string
  /** Null where the customer is gone or nobody. */
  readonly name: string | null
  readonly count: number
  /** Epoch milliseconds. */
  readonly last_at: number
}

/** Who called a version since an instant, the busiest first. */
export const callersOf = (
  from: Reader,
  version: string,
  sinceMs: number,
  limit: number,
): Promise<Caller[]> =>
  from.all<Caller & Record<string, unknown>>(sql`
    SELECT u.customer, c.name, sum(u.count) AS count, max(u.last_at) AS last_at
    FROM gh_version_usage u LEFT JOIN gh_customers c ON c.id = u.customer
    WHERE u.version = ${version} AND u.last_at >= ${sinceMs}
    GROUP BY u.customer, c.name ORDER BY sum(u.count) DESC, u.customer LIMIT ${limit}`)
