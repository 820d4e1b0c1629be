/** Evicts the bodies that engines have in memory, after an erasure has replaced them (§18.11). */
import type { Scope } from '../../kernel/principal.ts'
import type { Database } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { advanceRevision } from './registration-store.ts'
import type { WakeDeliveries } from './wake-up.ts'

const liveNos = prepareStatement(
  'SELECT no FROM gh_webhooks WHERE scope = ? AND deleted_at IS NULL ORDER BY no',
)

/**
 * Increments the revisions of the registrations of a scope, so that engines evict their windows and
 * read bodies again. Each has a transaction of its own, so that it waits for one row at a time.
 */
export async function evictWindows(
  db: Database,
  wake: WakeDeliveries,
  scope: Scope,
): Promise<void> {
  const nos = (await db.arrays(liveNos([scope]))).map(([no]) => no as number)
  for (const no of nos) await db.write((tx) => tx.run(advanceRevision([scope, no])))
  if (nos.length > 0) wake(nos)
}
