/**
 * The lease of the janitor: one node at a time purges for all nodes. Two nodes that delete the same
 * rows would wait for each other. A node that was killed has the lease for two more minutes.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'

/** The node renews its lease several times within this. */
const LEASE_MS = 120_000
export const RENEW_MS = 30_000

export interface ChoreLease {
  /** Takes or renews the lease. Returns false if another node has it. */
  claim(): Promise<boolean>
  /** Leaves the lease to any node from the instant `at` on. */
  release(at: number): Promise<void>
}

export function createChoreLease(db: Database, clock: Clock, node: string): ChoreLease {
  const hold = (now: number, until: number) =>
    // A lease that ends later than one that begins now comes from a clock that ran ahead.
    sql`INSERT INTO gh_chore_leases (name, node, held_until) VALUES ('janitor', ${node}, ${until})
      ON CONFLICT (name) DO UPDATE
      SET node = excluded.node, held_until = excluded.held_until
      WHERE gh_chore_leases.node = excluded.node OR gh_chore_leases.held_until <= ${now}
        OR gh_chore_leases.held_until > ${now + LEASE_MS}`
  return {
    async claim() {
      const now = clock.now()
      return (await db.write((tx) => tx.run(hold(now, now + LEASE_MS)), { single: true })) > 0
    },
    async release(at) {
      await db.write(
        (tx) =>
          tx.run(sql`UPDATE gh_chore_leases SET node = '', held_until = ${at}
          WHERE name = 'janitor' AND node = ${node}`),
        { single: true },
      )
    },
  }
}
