/**
 * `POST /webhooks/{id}/replay` and `…/recover`, `DELETE …/replay` (§9.10, §9.14): counts the
 * deliveries, records the replay and enqueues its job. `replay-job.ts` then sends them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { makerAsReader } from '../../history/events/event-access.ts'
import { matchesAny } from '../../history/events/event-pattern.ts'
import { findNewestEventId, readEventPage } from '../../history/events/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Pace } from '../../kernel/pace.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import type { ValuesOf } from '../../protocol/fields/members.ts'
import { type Answer, type Call, json, noContent } from '../../protocol/http/call.ts'
import {
  findNewestDeliveryId,
  readDeliveryPage,
  readPendingEventIds,
} from '../deliveries/log-store.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import { RETENTION_MS } from '../deliveries/retry-schedule.ts'
import { requireReadable } from './authority.ts'
import { eventsOf, type RegistrationInputs } from './registration.ts'
import {
  lockRegistrationAt,
  recordOperation,
  registrationAt,
  type WebhookContext,
} from './registrations.ts'
import {
  endReplay,
  findReplay,
  lockReplay,
  type NewReplay,
  type ReplayKind,
  saveReplay,
} from './replay-store.ts'

/** The name of the jobs that run replays and recoveries. */
export const REPLAY_JOB = 'replay'
/** Rows of the events, or of the log, that one statement reads. */
export const PAGE = 250
/** Rows that a count examines. Beyond it `count` is a lower bound, and grows with the progress. */
const COUNT_MAX_ROWS = 100_000

export interface ReplayContext extends WebhookContext {
  readonly enqueue: EnqueueJob
}

interface ReplayRequest {
  readonly kind: ReplayKind
  readonly since: number
  readonly eventTypes: readonly string[] | undefined
}

/**
 * Starts a replay; returns 202 `{count}`. Throws 403 for a type that
 * the caller may not read, 409 `replay_in_progress`.
 */
export function startReplay(
  context: ReplayContext,
  call: Call,
  { since, event_types: eventTypes }: ValuesOf<RegistrationInputs['replay']>,
): Promise<Answer> {
  if (eventTypes) requireReadable(context, call.principal!, eventTypes)
  return start(context, call, { kind: 'replay', since, eventTypes })
}

/** Starts a recovery; returns 202 `{count}`. Throws 409 `replay_in_progress`. */
export function startRecovery(
  context: ReplayContext,
  call: Call,
  { since }: ValuesOf<RegistrationInputs['recovery']>,
): Promise<Answer> {
  return start(context, call, { kind: 'recover', since, eventTypes: undefined })
}

/** Stops the replay or recovery. Deliveries that are queued stay queued. */
export function stopReplay(context: ReplayContext, call: Call): Promise<Answer> {
  return context.perform(call, async (tx) => {
    const { scope, no, id } = await lockRegistrationAt(context, call, tx)
    const place = { scope, webhook_no: no }
    const stoppedCount = await endReplay(tx, place, context.clock.now(), 'stopped')
    if (stoppedCount > 0) await recordOperation(context, tx, call, { action: 'stop_replay', id })
    return noContent()
  })
}

function start(context: ReplayContext, call: Call, request: ReplayRequest): Promise<Answer> {
  const { clock, db, perform, enqueue } = context
  const { kind, since, eventTypes } = request
  if (since > clock.now()) {
    const message = 'must not lie in the future'
    throw invalidMembers([{ pointer: '/since', code: 'invalid_value', message }])
  }
  let replay: NewReplay | undefined
  const plan = async () => {
    const row = await registrationAt(context, call)
    requireNoneRunning(await findReplay(db, { scope: row.scope, webhook_no: row.no }))
    replay = await planReplay(context, call, row, request)
  }
  const record = async (tx: Tx) => {
    const { scope, no, id } = await lockRegistrationAt(context, call, tx)
    requireNoneRunning(await lockReplay(tx, { scope, webhook_no: no }))
    const { count } = replay!
    await saveReplay(tx, replay!)
    const detail = { since, count, ...(eventTypes && { event_types: eventTypes }) }
    await recordOperation(context, tx, call, { action: kind, id, detail })
    // Jobs of one customer run one after the other: its rate covers all of its replays.
    const rowKey = `${REPLAY_JOB} ${scope >> 1}`
    const job = { kind: 'replay', name: REPLAY_JOB, scope, input: '{}', rowKey } as const
    if (count > 0) await enqueue(tx, { ...job, isMerged: true })
    return json(202, { count })
  }
  return perform(call, record, { prepare: plan })
}

function requireNoneRunning(replay: { readonly ended_at: number | null } | undefined): void {
  if (replay && replay.ended_at === null) throw new Failure('replay_in_progress')
}

async function planReplay(
  context: ReplayContext,
  call: Call,
  row: Registration,
  request: ReplayRequest,
): Promise<NewReplay> {
  const { clock, db } = context
  const { kind, since } = request
  const types = typesOf(context, call, row, request)
  const isReplay = kind === 'replay'
  const startedAt = clock.now()
  const sinceMs = firstInstantOf({ kind, since, started_at: startedAt })
  const position = isReplay ? 'evt_' : 'dlv_'
  const newest = isReplay ? findNewestEventId(db, row.scope) : findNewestDeliveryId(db, row.no)
  const until = (await newest) ?? position
  const pace = call.startPace()
  const range = { row, types: new Set(types), sinceMs, position, until, pace }
  const count = await (isReplay ? countEvents(context, range) : countFailed(context, range))
  return {
    scope: row.scope,
    webhook_no: row.no,
    kind,
    since,
    types: JSON.stringify(types),
    position,
    until_id: until,
    count,
    started_at: startedAt,
  }
}

/** Returns the first instant of a replay: older events are purged, or are about to be. */
export const firstInstantOf = ({
  kind,
  since,
  started_at: startedAt,
}: Pick<NewReplay, 'kind' | 'since' | 'started_at'>): number =>
  Math.max(0, since, kind === 'replay' ? startedAt - RETENTION_MS : 0)

/** Returns the types that the registration receives and its caller may read. */
function typesOf(
  { types }: ReplayContext,
  call: Call,
  row: Registration,
  { kind, eventTypes }: ReplayRequest,
): string[] {
  const readable = types.readableTypes(call.principal!) ?? [...types.collections.keys()]
  const maker = makerAsReader(row)
  return readable.filter((type) => {
    if (!types.covers(maker, type)) return false
    if (kind === 'recover') return true // the patterns may have changed since the deliveries failed
    return (
      matchesAny(eventsOf(row), type) && (eventTypes === undefined || matchesAny(eventTypes, type))
    )
  })
}

interface CountedRange {
  readonly row: Registration
  readonly types: ReadonlySet<string>
  readonly sinceMs: number
  readonly position: string
  readonly until: string
  readonly pace: Pace
}

/** Counts the events of a range whose delivery is not pending. */
function countEvents({ db }: ReplayContext, given: CountedRange) {
  const { row, types, ...range } = given
  return countPages(given, async (after) => {
    const events = await readEventPage(db, row.scope, { ...range, after, limit: PAGE })
    const pendingIds = await readPendingEventIds(db, row, events)
    const replayedEvents = events.filter(({ id, type }) => types.has(type) && !pendingIds.has(id))
    return { rows: events, count: replayedEvents.length }
  })
}

/** Counts the failed and exhausted deliveries of a range. */
function countFailed({ db }: ReplayContext, given: CountedRange) {
  const { row, types, ...range } = given
  return countPages(given, async (after) => {
    const deliveries = await readDeliveryPage(db, row, { ...range, after, limit: PAGE })
    const failedDeliveries = deliveries.filter(
      ({ event_type, state }) => types.has(event_type) && hasFailed(state),
    )
    return { rows: deliveries, count: failedDeliveries.length }
  })
}

/** Whether a recovery resends deliveries in this state. */
export const hasFailed = (state: string): boolean => state === 'failed' || state === 'exhausted'

/** Adds up the counts of pages; others run between two pages, and the customer takes its share. */
async function countPages(
  { position, pace }: CountedRange,
  countPage: (after: string) => Promise<{ rows: readonly { id: string }[]; count: number }>,
): Promise<number> {
  let total = 0
  let after = position
  for (let read = 0; read < COUNT_MAX_ROWS; read += PAGE) {
    const { rows, count } = await countPage(after)
    total += count
    if (rows.length < PAGE) break
    after = rows.at(-1)!.id
    await (pace() ?? nextTurn())
  }
  return total
}
