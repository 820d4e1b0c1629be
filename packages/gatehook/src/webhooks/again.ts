/**
 * Sent again: one delivery, all that failed, all there was (§9.10). Rows are taken in slices, a
 * transaction each, so that a month of events holds nobody up; a slice that is done stays done.
 */

import { NEXT_ROUND } from '../deliveries/delivery.ts'
import { KEPT_MS } from '../deliveries/schedule.ts'
import { envelope, type RenderObject } from '../events/event.ts'
import { matchesAny } from '../events/subscription.ts'
import { Failure } from '../kernel/failure.ts'
import { idFloor } from '../kernel/id.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Database, Tx } from '../storage/database.ts'
import { fixed, join, raw, sql } from '../storage/sql.ts'
import type { Found } from './log.ts'
import type { Registration } from './registration.ts'

/** Rows looked at in one transaction. */
const SLICE = 500
/** Rows of one INSERT. */
const ROWS = 100
/** Attempts of a delivery sent again and again: beyond this, what was is forgotten. */
const ATTEMPTS_MAX_CHARACTERS = 1_000_000

export interface AgainDeps {
  readonly db: Database
  readonly clock: { now(): number }
  readonly render: RenderObject
  readonly effective: (version: string) => string
  readonly wake: (webhookNos: readonly number[]) => void
}

const RESET = `state = 'pending', attempt = ${NEXT_ROUND},
  attempts = CASE WHEN length(gh_deliveries.attempts) > ${ATTEMPTS_MAX_CHARACTERS} THEN NULL
             ELSE gh_deliveries.attempts END`

const EVENT_IS_KEPT = `EXISTS (SELECT 1 FROM gh_events
  WHERE gh_events.scope = gh_deliveries.scope AND gh_events.id = gh_deliveries.event_id)`

const resetOne = fixed(
  `UPDATE gh_deliveries SET ${RESET}, next_attempt_at = ?
   WHERE no = ? AND state <> 'pending' AND ${EVENT_IS_KEPT}`,
)
/** One that is due is about to be sent, or being sent. */
const hasten = fixed(
  `UPDATE gh_deliveries SET next_attempt_at = ?
   WHERE no = ? AND state = 'pending' AND next_attempt_at > ?`,
)

const whereEventIsKept = fixed(
  `SELECT 1 AS kept FROM gh_deliveries WHERE no = ? AND ${EVENT_IS_KEPT}`,
)

/** Throws 409 where the registration or the event is gone. */
export async function sendAgain(
  { clock, wake }: AgainDeps,
  tx: Tx,
  { no, cells, registration }: Found,
): Promise<void> {
  if (registration.deleted_at !== null) {
    throw new Failure('invalid_state', 'The registration of this delivery was deleted.')
  }
  const now = clock.now()
  const done = (await tx.run(resetOne([now, no]))) + (await tx.run(hasten([now, no, now])))
  // Somebody else may have sent it again between what was read here and what was written.
  if (done === 0 && cells[STATE] !== 'pending' && !(await tx.get(whereEventIsKept([no])))) {
    throw new Failure('invalid_state', eventGone(String(cells[EVENT_ID]), now))
  }
  tx.afterCommit(() => wake([registration.no]))
}
const EVENT_ID = 1
const STATE = 3

/** Events are kept for a time; a younger one that is not there never was: it was a test (§9.3). */
const eventGone = (eventId: string, now: number): string =>
  eventId > idFloor('evt_', Math.max(0, now - KEPT_MS))
    ? 'This was a test delivery: no event was recorded for it, so it cannot be sent again. ' +
      'Send another test.'
    : 'The event of this delivery is not kept any more.'

const logFrom = fixed(
  `SELECT id, state FROM gh_deliveries WHERE webhook_no = ? AND id > ?
   ORDER BY id LIMIT ${SLICE}`,
)
const resetFailed = fixed(
  `UPDATE gh_deliveries SET ${RESET}, next_attempt_at = ?
   WHERE webhook_no = ? AND id > ? AND id <= ? AND state IN ('failed', 'exhausted')
     AND ${EVENT_IS_KEPT}`,
)

/** What failed since an instant is pending again; gives how many. */
export async function recover(
  deps: AgainDeps,
  { no }: Registration,
  since: number,
): Promise<number> {
  const { db, clock, wake } = deps
  let count = 0
  let from = idFloor('dlv_', Math.max(0, since))
  for (;;) {
    const page = await db.all<{ id: string; state: string }>(logFrom([no, from]))
    const last = page.at(-1)?.id
    if (last === undefined) return count
    if (page.some(({ state }) => state === 'failed' || state === 'exhausted')) {
      const [now, after] = [clock.now(), from]
      count += await db.write((tx) => tx.run(resetFailed([now, no, after, last])))
      wake([no])
    }
    from = last
  }
}

interface EventRow {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly collection: string | null
  readonly shape: string
  readonly object: string
}

const eventsFrom = fixed(
  `SELECT id, type, created, collection, shape, object FROM gh_events
   WHERE scope = ? AND id > ? ORDER BY id LIMIT ${SLICE}`,
)

/**
 * Every event since an instant that the registration asks for, those before it was made included,
 * is sent again, or for the first time; gives how many. What waits already is not counted.
 */
export async function replay(
  deps: AgainDeps,
  registration: Registration,
  since: number,
  types: readonly string[] | undefined,
): Promise<number> {
  const { db, clock, wake } = deps
  const { scope, no, events } = registration
  const asked = JSON.parse(events) as string[]
  const wanted = (type: string) => matchesAny(asked, type) && (!types || matchesAny(types, type))
  let count = 0
  // What is older is about to be thrown away, or is already.
  let from = idFloor('evt_', Math.max(0, since, clock.now() - KEPT_MS))
  for (;;) {
    const page = await db.all<EventRow>(eventsFrom([scope, from]))
    const last = page.at(-1)?.id
    if (last === undefined) return count
    const rows = page.filter(({ type }) => wanted(type))
    if (rows.length > 0) {
      count += await db.write((tx) => makeAgain(deps, tx, registration, rows))
      wake([no])
    }
    from = last
  }
}

async function makeAgain(
  deps: AgainDeps,
  tx: Tx,
  { scope, no, tag, api_version: version }: Registration,
  rows: readonly EventRow[],
): Promise<number> {
  const now = deps.clock.now()
  let count = 0
  for (let at = 0; at < rows.length; at += ROWS) {
    const values = rows.slice(at, at + ROWS).map(
      ({ id, type, created }) =>
        sql`(${`dlv_${id.slice(4)}${tag}`}, ${scope}, ${no}, ${id}, ${type}, ${version}, ${now},
            ${created * 1000})`,
    )
    count += await tx.run(sql`INSERT INTO gh_deliveries
      (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
      VALUES ${join(values)}
      ON CONFLICT (scope, id) DO UPDATE SET ${raw(RESET)},
        version = excluded.version, next_attempt_at = excluded.next_attempt_at
      WHERE gh_deliveries.state <> 'pending'`)
  }
  for (const row of rows) await keepBody(deps, tx, scope, version, row)
  return count
}

const insertBody = fixed(
  `INSERT INTO gh_event_bodies (scope, event_id, version, body) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, event_id, version) DO NOTHING`,
)

/** The body in the registration's version, where that is another than the event was recorded in. */
async function keepBody(
  { effective, render }: AgainDeps,
  tx: Tx,
  scope: Scope,
  version: string,
  event: EventRow,
): Promise<void> {
  const { id, collection, shape, object } = event
  const wanted = effective(version)
  if (wanted === shape || collection === null) return
  const shown = render(collection, object, shape, wanted)
  await tx.run(insertBody([scope, id, version, envelope({ ...event, scope }, shown)]))
}
