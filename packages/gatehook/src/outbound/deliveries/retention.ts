/**
 * Retention (§9.10–9.12): ends deliveries that are too old, and purges deliveries, events and
 * deleted registrations. Works in slices along the key, oldest first, so that transactions are
 * short and no statement scans rows that stay.
 */

import { eventTable } from '../../history/events/tables.ts'
import { findWaitingIn, listAwaited, WAITING_EVENTS, WAITS } from '../../history/events/waiting.ts'
import type { Clock } from '../../kernel/clock.ts'
import { lowestIdAt } from '../../kernel/id.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { leastOfKeys } from '../../platform/storage/key-walk.ts'
import { readPartitions, tablesOfMixedAge } from '../../platform/storage/partitions/catalog.ts'
import { expiredPartitions } from '../../platform/storage/partitions/periods.ts'
import { renewPartitions } from '../../platform/storage/partitions/upkeep.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { AFTER_ALL, fillFirst } from './backlog-store.ts'
import { PENDING_OF_ENDPOINTS } from './due-store.ts'
import type { EndpointKey } from './ports.ts'
import { RETENTION_MS } from './retry-schedule.ts'
import { bodyTable, deliveryTable, IS_PENDING, OWN, TIME } from './tables.ts'

/** Rows of one transaction, and of one run. */
const SLICE = 500
const RUN_MAX = 1_000_000

/** No delivery waits longer for its next attempt than this beyond its expiry. */
const EXPIRED_WAIT_MS = 7 * 86_400_000
/** Deliveries get rows this long before their events expire. */
const EXPIRING_MS = 86_400_000
/** Registrations with waiting deliveries that one statement lists. */
const AWAITED_PAGE = 1_000
const scopeOfRegistration = prepareStatement('SELECT scope FROM gh_webhooks WHERE no = ?')
/** The engine ends later ones instead of an attempt. */
const exhaust =
  prepareStatement(`UPDATE gh_deliveries SET state = 'exhausted', failed = 1, next_attempt_at = NULL
  WHERE state = 'pending' AND (scope, id) IN
    (SELECT scope, id FROM gh_deliveries
     WHERE ${IS_PENDING} AND ${TIME} <= ? AND id < ? AND created_at <= ?
     ORDER BY ${TIME} LIMIT ${SLICE})`)
/** Statements on deliveries in one table: all, or those of a partition without a period. */
const deliveryStatements = (table: string) => ({
  // Numbers grow with time: the first row that is too young ends the run.
  old: prepareStatement(`SELECT no, created_at FROM ${table}
    WHERE no > ? ORDER BY no LIMIT ${SLICE}`),
  // An exhausted delivery stays in the log for a second period: day 31 has its outcome.
  drop: prepareStatement(`DELETE FROM ${table} WHERE no > ? AND no <= ? AND created_at <= ?
    AND (state NOT IN ('pending', 'exhausted') OR created_at <= ?)`),
})
/** An event stays while a delivery waits in it. */
const EXPIRED = `position > ? AND position <= ? AND created <= ? AND NOT (${WAITS})`
/** Statements on events in one table: all of them, or those of a partition without a period. */
const eventStatements = (table: string) => ({
  old: prepareStatement(`SELECT position, created FROM ${table}
    WHERE position > ? ORDER BY position LIMIT ${SLICE}`),
  dropBodies: prepareStatement(`DELETE FROM gh_event_bodies WHERE (scope, event_id) IN
    (SELECT scope, id FROM ${table} WHERE ${EXPIRED})`),
  dropEvents: prepareStatement(`DELETE FROM ${table} WHERE ${EXPIRED}`),
})

/** Registrations that one statement reads. */
const REGISTRATIONS_PAGE = 1_000
/** The registrations with pending deliveries; the scope is null unless they are deleted. */
const pendingRegistrations = (db: Database) =>
  prepareStatement(`SELECT e.no, w.scope
    FROM ${leastOfKeys(db, PENDING_OF_ENDPOINTS, 'next_attempt_at')} AS e
    LEFT JOIN gh_webhooks w ON w.no = e.no AND w.deleted_at IS NOT NULL ORDER BY e.no`)
const deletedScope = prepareStatement(
  'SELECT scope FROM gh_webhooks WHERE no = ? AND deleted_at IS NOT NULL',
)
const failPending =
  prepareStatement(`UPDATE gh_deliveries SET state = 'failed', failed = 1, next_attempt_at = NULL
  WHERE state = 'pending' AND (scope, id) IN
    (SELECT scope, id FROM gh_deliveries WHERE ${IS_PENDING} AND ${OWN} = ? LIMIT ${SLICE})`)
const dropOutcomes = prepareStatement(`DELETE FROM gh_webhook_outcomes WHERE webhook_no = ?
  AND NOT EXISTS (SELECT 1 FROM gh_webhooks w
    WHERE w.scope = gh_webhook_outcomes.scope AND w.no = gh_webhook_outcomes.webhook_no)`)
const HAS_NONE = `NOT EXISTS (SELECT 1 FROM gh_deliveries d
    WHERE d.scope = gh_webhooks.scope AND d.webhook_no = gh_webhooks.no)
  AND NOT EXISTS (SELECT 1 FROM ${WAITING_EVENTS} AS e
    WHERE e.scope = gh_webhooks.scope AND e.waits_for = gh_webhooks.no)`
const emptyRegistrations = prepareStatement(`SELECT no FROM gh_webhooks
  WHERE deleted_at <= ? AND ${HAS_NONE} ORDER BY deleted_at LIMIT ${SLICE}`)
const dropRegistration = prepareStatement(
  `DELETE FROM gh_webhooks WHERE no = ? AND deleted_at <= ? AND ${HAS_NONE}`,
)

/** Events have their time in seconds. */
const secondOf = (ms: number): number => Math.floor(ms / 1000)

/**
 * Returns the retention chores by name; each resolves to the number of purged rows.
 *
 * @param fillMax - waiting deliveries of one registration that get rows in one run
 */
export function retention(
  db: Database,
  clock: Clock,
  fillMax = RUN_MAX,
): Readonly<Record<string, () => Promise<number>>> {
  return {
    deliveries: () => purgeDeliveries(db, clock.now(), fillMax),
    events: () => purgeEvents(db, clock.now(), fillMax),
    registrations: () => purgeRegistrations(db, clock.now()),
  }
}

/**
 * Ends expired deliveries, and purges old ones: on PostgreSQL by their partitions, elsewhere row by
 * row.
 */
async function purgeDeliveries(db: Database, now: number, fillMax: number): Promise<number> {
  const beforeMs = now - RETENTION_MS
  await fillExpiring(db, now, fillMax)
  const parts = await readPartitions(db, deliveryTable)
  // Ids have the time of creation where they select partitions.
  const below = parts.length > 0 ? lowestIdAt('dlv_', Math.max(0, beforeMs)) : AFTER_ALL
  await exhaustExpired(db, { beforeMs, below, dueMs: beforeMs + EXPIRED_WAIT_MS })
  const isDropping = expiredPartitions(deliveryTable, parts, beforeMs).length > 0
  if (isDropping) await exhaustExpired(db, { beforeMs, below, dueMs: Number.MAX_SAFE_INTEGER })
  const sinceMs = beforeMs - RETENTION_MS
  const condition = `failed = 1 AND state = 'exhausted' AND created_at > ${sinceMs}`
  const expiry = { nowMs: now, beforeMs, retained: { condition, sinceMs } }
  const { dropped, failure } = await renewPartitions(db, deliveryTable, expiry)
  let purgedCount = dropped
  for (const table of await tablesOfMixedAge(db, deliveryTable)) {
    purgedCount += await purgeDeliveryRows(db, table, now)
  }
  if (failure !== undefined) throw failure
  return purgedCount
}

/**
 * Gives deliveries rows that wait in events which are purged soon: their outcome stays. Returns
 * whether none of them waits any longer.
 */
async function fillExpiring(db: Database, now: number, fillMax: number): Promise<boolean> {
  const beforeMs = now - RETENTION_MS + EXPIRING_MS
  let isComplete = true
  for (let after = 0; ; ) {
    const awaited = await listAwaited(db, after, AWAITED_PAGE)
    for (const { no, since } of awaited) {
      // An event of a clock that was ahead can be the first one, before older ones.
      if (since > beforeMs && since <= now) continue
      const [row] = await db.arrays(scopeOfRegistration([no]))
      if (!row) continue
      const endpoint = { no, scope: row[0] as Scope }
      const below = await findWaitingIn(db, endpoint, secondOf(beforeMs), secondOf(now))
      isComplete = (await fillAll(db, endpoint, { below, fillMax })) && isComplete
    }
    if (awaited.length < AWAITED_PAGE) return isComplete
    after = awaited.at(-1)!.no
  }
}

/** Gives the waiting deliveries of a registration rows, oldest first. Returns whether all. */
async function fillAll(
  db: Database,
  endpoint: EndpointKey,
  { below, fillMax = RUN_MAX }: { below?: string | undefined; fillMax?: number } = {},
): Promise<boolean> {
  for (let filledCount = 0; filledCount < fillMax; ) {
    const { count, isLast } = await fillFirst(db, endpoint, below)
    if (isLast) return true
    filledCount += count
  }
  return false
}

/** Deliveries by the times of their creation and of their next attempt, and by their ids. */
interface ExpiredRange {
  readonly beforeMs: number
  readonly dueMs: number
  readonly below: string
}

/** Ends the pending deliveries of a range. */
async function exhaustExpired(
  db: Database,
  { beforeMs, dueMs, below }: ExpiredRange,
): Promise<void> {
  const statement = exhaust([dueMs, below, beforeMs])
  for (let count = SLICE; count === SLICE; ) {
    count = await db.write((tx) => tx.run(statement), { single: true })
  }
}

/**
 * Returns the number of the last row that a purge passes, of rows with numbers and times, and
 * whether further rows can follow. It passes rows of a clock that was ahead, which stay.
 */
function passRows(rows: readonly [no: number, at: number][], before: number, now: number) {
  const end = rows.findIndex(([, at]) => at > before && at <= now)
  const last = (end === -1 ? rows : rows.slice(0, end)).at(-1)?.[0]
  return { last, hasMore: end === -1 && rows.length === SLICE }
}

async function purgeDeliveryRows(db: Database, table: string, now: number): Promise<number> {
  const { old, drop } = deliveryStatements(table)
  const before = now - RETENTION_MS
  let purgedCount = 0
  for (let after = 0, read = 0; read < RUN_MAX; read += SLICE) {
    const rows = (await db.arrays(old([after]))) as [number, number][]
    const { last, hasMore } = passRows(rows, before, now)
    if (last === undefined) break
    const dropped = drop([after, last, before, before - RETENTION_MS])
    purgedCount += await db.write((tx) => tx.run(dropped), { single: true })
    after = last
    if (!hasMore) break
  }
  return purgedCount
}

/**
 * On PostgreSQL, drops the partitions whose events have all expired, bodies first. Elsewhere it
 * deletes expired events row by row.
 */
async function purgeEvents(db: Database, now: number, fillMax: number): Promise<number> {
  // The next run continues to fill, and drops partitions afterwards.
  const beforeMs = (await fillExpiring(db, now, fillMax)) ? now - RETENTION_MS : 0
  let purgedCount = 0
  let failed: unknown
  for (const table of [bodyTable, eventTable]) {
    const periods = { nowMs: now, beforeMs }
    const { dropped, failure } = await renewPartitions(db, table, periods)
    if (table === eventTable) purgedCount += dropped
    failed ??= failure
  }
  for (const table of await tablesOfMixedAge(db, eventTable)) {
    purgedCount += await purgeEventRows(db, table, now)
  }
  if (failed !== undefined) throw failed
  return purgedCount
}

async function purgeEventRows(db: Database, table: string, now: number): Promise<number> {
  const { old, dropBodies, dropEvents } = eventStatements(table)
  const before = secondOf(now - RETENTION_MS)
  let purgedCount = 0
  for (let after = 0, read = 0; read < RUN_MAX; read += SLICE) {
    const rows = (await db.arrays(old([after]))) as [number, number][]
    const { last, hasMore } = passRows(rows, before, secondOf(now))
    if (last === undefined) break
    const range = [after, last, before]
    purgedCount += await db.write(async (tx: Tx) => {
      await tx.run(dropBodies(range))
      return tx.run(dropEvents(range))
    })
    after = last
    if (!hasMore) break
  }
  return purgedCount
}

/**
 * Fails the pending deliveries of deleted registrations; purges registrations without any. It seeks
 * the registrations that have such work, so that those which a customer deletes delay no other.
 */
async function purgeRegistrations(db: Database, now: number): Promise<number> {
  for (const { no, scope } of await listAwaitedOfDeleted(db)) await fillAll(db, { no, scope })
  let nos = await listPendingOfDeleted(db)
  for (let endedCount = 0; nos.length > 0 && endedCount < RUN_MAX; ) {
    const rest: number[] = []
    for (const no of nos) {
      const count = await db.write((tx) => tx.run(failPending([no])), { single: true })
      endedCount += count
      if (count === SLICE) rest.push(no)
    }
    nos = rest
  }
  return dropEmptyRegistrations(db, now - RETENTION_MS)
}

/** Lists the deleted registrations whose deliveries wait in their events. */
async function listAwaitedOfDeleted(db: Database): Promise<EndpointKey[]> {
  const endpoints: EndpointKey[] = []
  for (let after = 0; ; ) {
    const awaited = await listAwaited(db, after, AWAITED_PAGE)
    for (const { no } of awaited) {
      const [row] = await db.arrays(deletedScope([no]))
      if (row) endpoints.push({ no, scope: row[0] as Scope })
    }
    if (awaited.length < AWAITED_PAGE) return endpoints
    after = awaited.at(-1)!.no
  }
}

/** Lists the numbers of the deleted registrations with pending deliveries. */
async function listPendingOfDeleted(db: Database): Promise<number[]> {
  const statement = pendingRegistrations(db)
  const nos: number[] = []
  for (let after = 0; ; ) {
    const rows = (await db.arrays(statement([after, REGISTRATIONS_PAGE]))) as [number, number][]
    for (const [no, scope] of rows) if (scope !== null) nos.push(no)
    if (rows.length < REGISTRATIONS_PAGE) return nos
    after = rows.at(-1)![0]
  }
}

/** Purges registrations that were deleted before an instant, and have no delivery. */
async function dropEmptyRegistrations(db: Database, before: number): Promise<number> {
  let purgedCount = 0
  for (let count = SLICE; count === SLICE && purgedCount < RUN_MAX; ) {
    const rows = await db.arrays(emptyRegistrations([before]))
    count = 0
    for (const [no] of rows) {
      count += await db.write(async (tx) => {
        const dropped = await tx.run(dropRegistration([no, before]))
        if (dropped > 0) await tx.run(dropOutcomes([no]))
        return dropped
      })
    }
    purgedCount += count
  }
  return purgedCount
}
