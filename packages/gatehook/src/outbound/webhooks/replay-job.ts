/**
 * The job of a customer's replays (§9.14): one batch per transaction, at most at the customer's
 * delivery rate, its registrations in turn. The progress commits with each batch, so that another
 * attempt, of any node, continues after a crash.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { EventAccess } from '../../history/events/event-access.ts'
import { type EventHead, findEvent, readEventPage } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Continuation, type JobAttempt, type JobHandler } from '../../platform/jobs/job.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import { parseDeliveryRate } from '../deliveries/delivery-rate.ts'
import {
  type DeliveryHead,
  readDeliveryPage,
  requeueEvents,
  requeueFailed,
} from '../deliveries/log-store.ts'
import { type BodyRenderer, renderBody, storeBody } from '../deliveries/outbox.ts'
import type { Registration } from '../deliveries/registration-store.ts'
import { registrationOf } from '../deliveries/registration-store.ts'
import { canReceive } from './authority.ts'
import * as store from './replay-store.ts'
import { firstInstantOf, hasFailed, PAGE, REPLAY_JOB } from './replays.ts'

interface ReplayJobDeps extends BodyRenderer {
  readonly db: Database
  readonly clock: Clock
  readonly types: EventAccess
  readonly wake: (webhookNos: readonly number[]) => void
  /** The rate of customers without their own; undefined: unlimited. */
  readonly rate: { readonly limit: number; readonly windowMs: number } | undefined
}

/** Deliveries of one transaction. */
const BATCH_MAX = 25
/** Pages without a matching row that one transaction passes. */
const PAGES_MAX = 4
/** A batch has at most the deliveries of this time at the rate, so that a replay runs evenly. */
const BATCH_MS = 250
/** The rate of replays where deliveries are not limited. */
const UNLIMITED = { limit: 1_000, windowMs: 1_000 }
/** After a batch of `t` ms the node rests `t × REST_TIMES`, and at least `REST_MIN_MS`. */
const REST_TIMES = 4
const REST_MIN_MS = 5
/** An attempt ends after this time, so that other customers have their turn. */
const ATTEMPT_MS = 1_000
const TIMEOUT_MS = 60_000

export function createReplayHandler(deps: ReplayJobDeps): JobHandler {
  const { db, clock } = deps
  const runInTurn = createBatchTurns(clock)
  return {
    kind: 'replay',
    name: REPLAY_JOB,
    // An operator or the customer ends a replay; an error does not.
    attempts: Number.POSITIVE_INFINITY,
    timeoutMs: TIMEOUT_MS,
    async run({ scope, signal }: JobAttempt) {
      const endMs = clock.elapsedMs() + ATTEMPT_MS
      for (;;) {
        const replay = await store.findNextReplay(db, scope!)
        if (!replay) return undefined
        const startMs = clock.elapsedMs()
        const durationMs = await runInTurn(() => runBatch(deps, replay))
        const waitMs = Math.max(0, startMs + durationMs - clock.elapsedMs())
        if (signal.aborted || clock.elapsedMs() + waitMs >= endMs) {
          return new Continuation(clock.now() + waitMs)
        }
        await pause(waitMs)
      }
    },
  }
}

/** Returns a function that runs the batches of this node one after the other, with rests. */
function createBatchTurns(clock: Clock) {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(batch: () => Promise<T>): Promise<T> => {
    const result = last.then(async () => {
      const startMs = clock.elapsedMs()
      try {
        return await batch()
      } finally {
        await pause(Math.max(REST_MIN_MS, (clock.elapsedMs() - startMs) * REST_TIMES))
      }
    })
    last = result.catch(() => {})
    return result
  }
}

/** Runs a batch. Returns the time that its deliveries take at the customer's rate. */
async function runBatch(deps: ReplayJobDeps, replay: store.RunningReplay): Promise<number> {
  const { limit, windowMs } = parseDeliveryRate(replay.limits) ?? deps.rate ?? UNLIMITED
  const perBatch = Math.floor((limit * BATCH_MS) / windowMs)
  const size = Math.max(1, Math.min(BATCH_MAX, perBatch))
  return ((await queueBatch(deps, replay, size)) * windowMs) / limit
}

interface ReplayBatch {
  /** The last id that the batch processes. */
  readonly position: string
  readonly isLast: boolean
  /** Queues the deliveries; returns how many were not pending. */
  queue(tx: Tx, row: Registration): Promise<number>
}

/**
 * Queues one batch in one transaction with its progress. Returns how many deliveries. A batch whose
 * position another node has passed queues none.
 */
async function queueBatch(
  deps: ReplayJobDeps,
  replay: store.RunningReplay,
  size: number,
): Promise<number> {
  const { db, clock, wake } = deps
  const { scope, webhook_no: no } = replay
  const row = await registrationOf(db, { scope, no })
  const batch =
    row && row.deleted_at === null ? await readBatch(deps, replay, row, size) : undefined
  const queuedCount = await db.write(async (tx) => {
    const current = await store.lockReplay(tx, replay)
    const isCurrent =
      current?.position === replay.position && current.started_at === replay.started_at
    if (!isCurrent || current.ended_at !== null) return 0
    const currentRow = await registrationOf(tx, { scope, no })
    if (!batch || !currentRow || currentRow.deleted_at !== null) {
      await store.endReplay(tx, replay, clock.now(), 'stopped')
      return 0
    }
    const count = await batch.queue(tx, currentRow)
    await store.advanceReplay(tx, replay, { position: batch.position, count, now: clock.now() })
    if (batch.isLast) await store.endReplay(tx, replay, clock.now(), 'finished')
    return count
  })
  if (queuedCount > 0) wake([no])
  return queuedCount
}

/** Reads the next batch: at most `size` matching rows, from at most `PAGES_MAX` pages. */
async function readBatch(
  deps: ReplayJobDeps,
  replay: store.RunningReplay,
  row: Registration,
  size: number,
): Promise<ReplayBatch> {
  const { db, clock } = deps
  const types = new Set(JSON.parse(replay.types) as string[])
  const matches = (type: string) => types.has(type) && canReceive(deps, row, type)
  const range = { sinceMs: firstInstantOf(replay), until: replay.until_id, limit: PAGE }
  if (replay.kind === 'recover') {
    const { rows, position, isLast } = await collectRows({
      read: (after) => readDeliveryPage(db, row, { ...range, after }),
      includes: ({ state, event_type }: DeliveryHead) => hasFailed(state) && matches(event_type),
      position: replay.position,
      size,
    })
    return { position, isLast, queue: (tx) => requeueFailed(tx, row.scope, rows, clock.now()) }
  }
  const { rows, position, isLast } = await collectRows({
    read: (after) => readEventPage(db, row.scope, { ...range, after }),
    includes: ({ type }: EventHead) => matches(type),
    position: replay.position,
    size,
  })
  return {
    position,
    isLast,
    async queue(tx, currentRow) {
      const count = await requeueEvents(tx, currentRow, rows, clock.now())
      for (const { id } of rows) await storeBodyFor(deps, tx, currentRow, id)
      return count
    },
  }
}

interface RowReader<T> {
  readonly read: (after: string) => Promise<T[]>
  readonly includes: (row: T) => boolean
  /** The last id that was processed. */
  readonly position: string
  readonly size: number
}

async function collectRows<T extends { readonly id: string }>({
  read,
  includes,
  position: start,
  size,
}: RowReader<T>): Promise<{ rows: T[]; position: string; isLast: boolean }> {
  let position = start
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await read(position)
    const matching = page.filter(includes)
    const rows = matching.slice(0, size)
    const isCut = matching.length > size
    position = (isCut ? rows.at(-1)! : (page.at(-1) ?? { id: position })).id
    const isLast = !isCut && page.length < PAGE
    if (rows.length > 0 || isLast) return { rows, position, isLast }
  }
  return { rows: [], position, isLast: false }
}

/** Stores the body for the registration's version, if that differs from the event's own. */
async function storeBodyFor(
  deps: ReplayJobDeps,
  tx: Tx,
  { scope, api_version: version }: Registration,
  id: string,
): Promise<void> {
  const event = await findEvent(tx, scope, id)
  const body = event && renderBody(deps, event, version)
  if (event && body !== undefined) storeBody(tx, event, version, body)
}
