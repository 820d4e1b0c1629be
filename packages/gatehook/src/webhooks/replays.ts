/**
 * `POST /webhooks/{id}/replay` and `…/recover`, `DELETE …/replay` (§9.10, §9.14): what is counted
 * and recorded when a replay is requested. The work itself is `replay-worker.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RETENTION_MS } from '../deliveries/retry-schedule.ts'
import { readableTypes } from '../events/event-access.ts'
import { matchesAny } from '../events/event-pattern.ts'
import { type Answer, type Call, json, noContent } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { lowestIdAt } from '../kernel/id.ts'
import { instant, invalidMembers, optional, readMembers, required } from '../kernel/members.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { refuseUnreadable } from './authority.ts'
import { eventsOf, membersOf, type Registration, scopesOf } from './registration.ts'
import { audit, type Desk, lockedRegistration, registrationAt } from './registrations.ts'
import {
  endReplay,
  eventPage,
  findReplay,
  hasFailed,
  lockReplay,
  logPage,
  type NewReplay,
  newestDeliveryId,
  newestEventId,
  PAGE,
  putReplay,
  type ReplayKind,
  waitingEvents,
} from './replay-store.ts'

/** Rows that a count examines; beyond it the count is of those, and grows with the work. */
const COUNT_MAX_ROWS = 100_000

export interface ReplayDesk extends Desk {
  /** A replay was recorded: the worker starts. */
  readonly replayStarted: () => void
}

interface Wish {
  readonly kind: ReplayKind
  readonly since: number
  readonly eventTypes: readonly string[] | undefined
}

/** `{since, event_types?}` → 202 `{count}`. Throws 409 `replay_in_progress`. */
export function startReplay(desk: ReplayDesk, call: Call): Promise<Answer> {
  const members = { since: required(instant), event_types: optional(membersOf(desk).types) }
  const { since, event_types: eventTypes } = readMembers(call.body, members)
  if (eventTypes) refuseUnreadable(desk, call.principal!, eventTypes)
  return start(desk, call, { kind: 'replay', since: past(desk, since), eventTypes })
}

/** `{since}` → 202 `{count}`. Throws 409 `replay_in_progress`. */
export async function startRecovery(desk: ReplayDesk, call: Call): Promise<Answer> {
  const { since } = readMembers(call.body, { since: required(instant) })
  return start(desk, call, { kind: 'recover', since: past(desk, since), eventTypes: undefined })
}

/** What was put in the queue stays there. */
export function stopReplay(desk: ReplayDesk, call: Call): Promise<Answer> {
  return desk.perform(call, async (tx) => {
    const { no, id } = await lockedRegistration(desk, call, tx)
    const stopped = await endReplay(tx, no, desk.clock.now(), 'stopped')
    if (stopped > 0) await audit(desk, tx, call, { action: 'stop_replay', id })
    return noContent()
  })
}

/** Throws 422 for an instant in the future. */
function past(desk: Desk, since: number): number {
  if (since <= desk.clock.now()) return since
  const message = 'must not lie in the future'
  throw invalidMembers([{ pointer: '/since', code: 'invalid_value', message }])
}

function start(desk: ReplayDesk, call: Call, wish: Wish): Promise<Answer> {
  const { clock, db, perform } = desk
  let plan: NewReplay | undefined
  const prepare = async () => {
    const row = await registrationAt(desk, call)
    refuseSecond(await findReplay(db, row.no))
    plan = await planOf(desk, call, row, wish)
  }
  const record = async (tx: Tx) => {
    const { no, id } = await lockedRegistration(desk, call, tx)
    refuseSecond(await lockReplay(tx, no))
    const { count } = plan!
    await putReplay(tx, { ...plan!, started_at: clock.now() })
    const { kind, since } = wish
    const detail = { since, count, ...(wish.eventTypes && { event_types: wish.eventTypes }) }
    await audit(desk, tx, call, { action: kind, id, detail })
    tx.afterCommit(desk.replayStarted)
    return json(202, { count })
  }
  return perform(call, record, prepare)
}

function refuseSecond(replay: { readonly ended_at: number | null } | undefined): void {
  if (replay && replay.ended_at === null) throw new Failure('replay_in_progress')
}

/** Types that the registration receives and its caller may read. */
function typesOf({ types }: Desk, call: Call, row: Registration, wish: Wish): string[] {
  const readable = readableTypes(types, call.principal!) ?? [...types.collections.keys()]
  const scopes = new Set(scopesOf(row))
  return readable.filter((type) => {
    if (!types.covers(scopes, type)) return false
    if (wish.kind === 'recover') return true // whatever it asked for when they failed
    return matchesAny(eventsOf(row), type) && (wish.eventTypes?.some(matching(type)) ?? true)
  })
}

const matching = (type: string) => (pattern: string) => matchesAny([pattern], type)

async function planOf(desk: Desk, call: Call, row: Registration, wish: Wish): Promise<NewReplay> {
  const { db, clock } = desk
  const { kind, since } = wish
  const types = typesOf(desk, call, row, wish)
  // Older events are about to be purged, or are already.
  const oldest = Math.max(0, since, kind === 'replay' ? clock.now() - RETENTION_MS : 0)
  const position = lowestIdAt(kind === 'replay' ? 'evt_' : 'dlv_', oldest)
  const newest = kind === 'replay' ? newestEventId(db, row.scope) : newestDeliveryId(db, row.no)
  const until = (await newest) ?? position
  const counting = { row, types: new Set(types), position, until }
  const count = await (kind === 'replay' ? countEvents(db, counting) : countFailed(db, counting))
  return {
    webhook_no: row.no,
    kind,
    since,
    types: JSON.stringify(types),
    position,
    until_id: until,
    count,
    started_at: clock.now(),
  }
}

interface Counting {
  readonly row: Registration
  readonly types: ReadonlySet<string>
  readonly position: string
  readonly until: string
}

/** Events that do not wait already; in pages, so that other requests run in between. */
async function countEvents(db: Reader, { row, types, position, until }: Counting) {
  let count = 0
  let after = position
  for (let seen = 0; seen < COUNT_MAX_ROWS; seen += PAGE) {
    const page = await eventPage(db, row.scope, after, until)
    const last = page.at(-1)?.id
    if (last === undefined) break
    const waiting = await waitingEvents(db, row.no, after, last)
    count += page.filter(({ id, type }) => types.has(type) && !waiting.has(id)).length
    if (page.length < PAGE) break
    after = last
    await nextTurn()
  }
  return count
}

async function countFailed(db: Reader, { row, types, position, until }: Counting) {
  let count = 0
  let after = position
  for (let seen = 0; seen < COUNT_MAX_ROWS; seen += PAGE) {
    const page = await logPage(db, row.no, after, until)
    const last = page.at(-1)?.id
    if (last === undefined) break
    count += page.filter(
      ({ event_type, state }) => types.has(event_type) && hasFailed(state),
    ).length
    if (page.length < PAGE) break
    after = last
    await nextTurn()
  }
  return count
}
