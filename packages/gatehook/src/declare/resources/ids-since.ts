/**
 * How many ids the database may have assigned since an instant that it no longer knows: to rows
 * which a restore, or an undone move, has lost. No id is assigned twice (§6.8).
 */
import { findLastRequestTime } from '../../history/audit/store.ts'
import { DEFAULT_CUSTOMER } from '../../identity/access/administration.ts'
import { findCustomer } from '../../identity/access/store.ts'
import type { Tx } from '../../platform/storage/database.ts'

/** More ids than a service assigns. */
const IDS_PER_MS = 1

/**
 * Returns how many ids other copies of the same data may have assigned until now. All count from
 * the last audited request in the data; commands before the first start record no request. If that
 * is after `now`, a clock was ahead, and they count from the first start: further than any other.
 */
export async function countIdsSince(tx: Tx, now: number): Promise<number> {
  const last = await findLastRequestTime(tx)
  const isUsable = last !== undefined && last <= now
  const since = isUsable ? last : (await findCustomer(tx, DEFAULT_CUSTOMER))?.created_at
  return Math.max(0, now - (since ?? now)) * IDS_PER_MS
}
