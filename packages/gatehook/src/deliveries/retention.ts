/**
 * What is thrown away, and what time ends (§9.10–9.12): in slices along the key, oldest first, so
 * that no transaction is long and nothing is scanned that stays.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { KEPT_MS } from './schedule.ts'

/** Rows of one transaction, and of one call. */
const SLICE = 500
const CALL_MAX = 50_000

/** Numbers grow with time, so the first row that is too young ends the walk. */
const oldDeliveries = fixed(`SELECT no, state, created_at FROM gh_deliveries
  WHERE no > ? ORDER BY no LIMIT ${SLICE}`)
const exhaust = fixed(`UPDATE gh_deliveries SET state = 'exhausted', next_attempt_at = NULL
  WHERE no > ? AND no <= ? AND state = 'pending' AND created_at <= ?`)
/** What ended is told for as long again: who looks on day 31 sees what became of it. */
const dropDeliveries = fixed(`DELETE FROM gh_deliveries
  WHERE no > ? AND no <= ? AND (state <> 'pending' AND state <> 'exhausted' OR created_at <= ?)
  AND created_at <= ?`)
const oldEvents = fixed(`SELECT position, created FROM gh_events ORDER BY position LIMIT ${SLICE}`)
const dropBodies = fixed(`DELETE FROM gh_event_bodies WHERE (scope, event_id) IN
  (SELECT scope, id FROM gh_events WHERE position <= ? AND created <= ?)`)
const dropEvents = fixed('DELETE FROM gh_events WHERE position <= ? AND created <= ?')

const deletedRegistrations = fixed(
  'SELECT no FROM gh_webhooks WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 100',
)
const waitingOf = fixed(`UPDATE gh_deliveries SET state = 'failed', next_attempt_at = NULL
  WHERE no IN (SELECT no FROM gh_deliveries WHERE webhook_no = ? AND state = 'pending'
               LIMIT ${SLICE})`)
const forgetRegistration = fixed(`DELETE FROM gh_webhooks WHERE no = ? AND deleted_at <= ?
  AND NOT EXISTS (SELECT 1 FROM gh_deliveries d WHERE d.webhook_no = gh_webhooks.no)`)

export function retention(
  db: Database,
  clock: Clock,
): Readonly<Record<string, () => Promise<number>>> {
  return {
    deliveries: () => endDeliveries(db, clock.now()),
    events: () => dropOldEvents(db, clock.now()),
    registrations: () => endRegistrations(db, clock.now()),
  }
}

async function endDeliveries(db: Database, now: number): Promise<number> {
  let after = 0
  let removed = 0
  for (let seen = 0; seen < CALL_MAX; seen += SLICE) {
    const rows = (await db.arrays(oldDeliveries([after]))) as [number, string, number][]
    const old = rows.filter(([, , createdAt]) => createdAt <= now - KEPT_MS)
    const last = old.at(-1)?.[0]
    if (last === undefined) break
    const from = after
    removed += await db.write(async (tx) => {
      await tx.run(exhaust([from, last, now - KEPT_MS]))
      return tx.run(dropDeliveries([from, last, now - 2 * KEPT_MS, now - KEPT_MS]))
    })
    after = last
    if (old.length < SLICE) break
  }
  return removed
}

async function dropOldEvents(db: Database, now: number): Promise<number> {
  const before = Math.floor((now - KEPT_MS) / 1000)
  let removed = 0
  while (removed < CALL_MAX) {
    const rows = (await db.arrays(oldEvents([]))) as [number, number][]
    const last = rows.filter(([, created]) => created <= before).at(-1)?.[0]
    if (last === undefined) break
    const gone = await db.write(async (tx: Tx) => {
      await tx.run(dropBodies([last, before]))
      return tx.run(dropEvents([last, before]))
    })
    removed += gone
    if (gone < SLICE) break
  }
  return removed
}

/** Pending deliveries of a deleted registration end as failed; when its last is gone, so is it. */
async function endRegistrations(db: Database, now: number): Promise<number> {
  let removed = 0
  for (const [no] of await db.arrays(deletedRegistrations([]))) {
    for (let ended = 0; ended < CALL_MAX; ended += SLICE) {
      if ((await db.write((tx) => tx.run(waitingOf([no])))) < SLICE) break
    }
    removed += await db.write((tx) => tx.run(forgetRegistration([no, now - KEPT_MS])))
  }
  return removed
}
