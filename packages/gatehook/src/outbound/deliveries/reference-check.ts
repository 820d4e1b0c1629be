/**
 * Finds pending deliveries that no engine can send, because a row or a time that they need is
 * missing, and ended ones that the index of pending ones still has.
 */
import { isEventStored } from '../../history/events/by-id.ts'
import { WAITING_EVENTS } from '../../history/events/waiting.ts'
import type { OnPart } from '../../kernel/pace.ts'
import type { Database, Value } from '../../platform/storage/database.ts'
import { createKeyPages } from '../../platform/storage/key-pages.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'

const PAGE_ROWS = 1_000
/** Deliveries that a report names. */
const NAMED_MAX = 5

const LACKING = `CASE WHEN d.state <> 'pending'
    THEN CASE WHEN d.next_attempt_at IS NOT NULL THEN 'end' END
  WHEN NOT EXISTS (SELECT 1 FROM gh_webhooks w WHERE w.scope = d.scope AND w.no = d.webhook_no)
    THEN 'registration'
  WHEN NOT ${isEventStored('d')} THEN 'event'
  WHEN d.next_attempt_at IS NULL THEN 'time' END`
const readPage = createKeyPages(`SELECT d.scope, d.id, ${LACKING} FROM gh_deliveries d`, [
  'd.scope',
  'd.id',
])

/** Deliveries that wait in their events for a registration that is missing. */
const waitingInVain = prepareStatement(`SELECT e.waiting_id FROM ${WAITING_EVENTS} AS e
  WHERE NOT EXISTS (SELECT 1 FROM gh_webhooks w WHERE w.scope = e.scope AND w.no = e.waits_for)
  LIMIT ${PAGE_ROWS}`)

export interface ReferenceReport {
  readonly deliveries: number
  /** Deliveries by the missing row or time, or `end`, with the ids of the first ones. */
  readonly lacking: ReadonlyMap<string, { readonly count: number; readonly ids: readonly string[] }>
}

export async function checkReferences(db: Database, onPart: OnPart): Promise<ReferenceReport> {
  const lacking = new Map<string, { count: number; ids: string[] }>()
  const { rows: all } = await db.size('gh_deliveries')
  let deliveries = 0
  const add = (id: Value, missing: string) => {
    const group = lacking.get(missing) ?? { count: 0, ids: [] }
    group.count++
    if (group.ids.length < NAMED_MAX) group.ids.push(String(id))
    lacking.set(missing, group)
  }
  for (const [id] of await db.arrays(waitingInVain([]))) add(id!, 'registration')
  for (let after: Parameters<typeof readPage>[1]; ; ) {
    const page = await readPage(db, after, PAGE_ROWS)
    for (const [, id, missing] of page) {
      if (missing !== null) add(id!, String(missing))
    }
    deliveries += page.length
    await onPart(deliveries, Math.max(all, deliveries))
    if (page.length < PAGE_ROWS) return { deliveries, lacking }
    after = page.at(-1)!.slice(0, 2)
  }
}
