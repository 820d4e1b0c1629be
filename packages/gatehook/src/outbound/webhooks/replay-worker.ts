/**
 * Runs replays in the background (§9.14): one batch per transaction, at most at the customer's
 * delivery rate. The progress commits with each batch, so another process continues after a crash.
 * A node owns the replays that it runs and increments their counters; when a counter stops, another
 * node takes over.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { EventAccess } from '../../history/events/event-access.ts'
import { type EventHead, findEvent, readEventPage } from '../../history/events/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createFailureDetector } from '../../kernel/failure-detector.ts'
import type { Log } from '../../kernel/log.ts'
import type { Random } from '../../kernel/random.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
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
import { hasFailed, PAGE } from './replays.ts'

interface ReplayWorkerDeps extends BodyRenderer {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly types: EventAccess
  readonly wake: (webhookNos: readonly number[]) => void
  /** The rate of customers without their own; undefined: unlimited. */
  readonly rate: { readonly limit: number; readonly windowMs: number } | undefined
}

interface ReplayWorker {
  /** Notes that a replay was recorded. */
  readonly nudge: () => void
  /** Finds the replays of other nodes, with each poll of the node. */
  readonly polled: readonly PolledValue[]
  start(): void
  stop(): Promise<void>
}

/** Deliveries of one transaction. */
const BATCH_MAX = 25
/** Pages without a matching row that one transaction passes. */
const PAGES_MAX = 4
/** A batch has at most the deliveries of this time at the rate, so that a replay runs evenly. */
const BATCH_MS = 250
/** The rate of replays where deliveries are not limited. */
const UNLIMITED = { limit: 1_000, windowMs: 1_000 }
/** After a batch of `t` ms the worker rests `t × REST_TIMES`, and at least `REST_MIN_MS`. */
const REST_TIMES = 4
const REST_MIN_MS = 5
/** While replays run: how often a node looks for those to take over, and sends a heartbeat. */
const POLL_MS = 1_000
const HEARTBEAT_MS = 2_000
/** A counter that has not changed for this long means that the node has failed. */
const FAILED_AFTER_MS = 8_000

export function createReplayWorker(deps: ReplayWorkerDeps): ReplayWorker {
  const { log } = deps
  const scheduler = createScheduler(deps)
  const stopping = new AbortController()
  let wake: (() => void) | undefined
  let isNudged = false
  let running: Promise<void> | undefined
  const rest = (ms: number, endsOnNudge: boolean) =>
    new Promise<void>((resolve) => {
      if (stopping.signal.aborted || (endsOnNudge && isNudged)) return resolve()
      const timer = ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(resolve, ms)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      stopping.signal.addEventListener('abort', end, { once: true })
      if (endsOnNudge) wake = end
    })
  const loop = async () => {
    while (!stopping.signal.aborted) {
      isNudged = false
      let waitMs = POLL_MS
      try {
        waitMs = await scheduler.runBatches()
      } catch (error) {
        log.warn({ err: error }, 'a batch of a replay failed; the worker retries it')
      }
      await rest(waitMs, waitMs >= POLL_MS)
    }
  }
  const nudge = () => {
    isNudged = true
    wake?.()
  }
  return {
    nudge,
    polled: [
      {
        select: () => store.selectIsRunning,
        receive: (isRunning) => (isRunning ? nudge() : undefined),
      },
    ],
    start() {
      running ??= loop()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Returns the scheduler: it claims replays and runs a batch of each customer that is ready. */
function createScheduler(deps: ReplayWorkerDeps) {
  const { db, clock, random } = deps
  const node = random.bytes(16).toString('hex')
  /** By customer number: when its rate permits the next batch, in monotonic milliseconds. */
  const readyAtMs = new Map<number, number>()
  const findFailed = createFailureDetector<number>(clock, FAILED_AFTER_MS)
  let heartbeatAtMs = 0
  let isFirstRun = true

  /** Returns the replays of failed nodes, by registration number. */
  const findAbandoned = (running: readonly store.RunningReplay[]): ReadonlySet<number> => {
    const foreign = running.filter(({ owner }) => owner !== node)
    const staleNos = new Set(
      findFailed(foreign.map(({ webhook_no, heartbeat }) => [webhook_no, heartbeat])),
    )
    // On SQLite the former process has ended when this one starts.
    const isSole = isFirstRun && !db.dialect.shared
    const abandonedReplays = foreign.filter(
      ({ webhook_no, owner }) => owner === null || isSole || staleNos.has(webhook_no),
    )
    return new Set(abandonedReplays.map(({ webhook_no }) => webhook_no))
  }
  /** Claims all replays of a customer, so that its rate covers them together. */
  const claim = (running: readonly store.RunningReplay[], customerNo: number) =>
    db.write(async (tx) => {
      await store.lockCustomerNo(tx, customerNo)
      const current = await store.readRunningReplays(tx)
      const ofCustomer = current.filter(({ customer_no }) => customer_no === customerNo)
      const heartbeats = new Map(
        running.map(({ webhook_no, heartbeat }) => [webhook_no, heartbeat]),
      )
      const isAlive = ({ owner, webhook_no, heartbeat }: store.RunningReplay) =>
        owner !== null && owner !== node && heartbeats.get(webhook_no) !== heartbeat
      if (ofCustomer.some(isAlive)) return
      for (const replay of ofCustomer) {
        if (replay.owner !== node) await store.takeReplay(tx, replay, node)
      }
    })
  const runBatch = async (replay: store.RunningReplay): Promise<void> => {
    const { limit, windowMs } = parseDeliveryRate(replay.limits) ?? deps.rate ?? UNLIMITED
    const perBatch = Math.floor((limit * BATCH_MS) / windowMs)
    const size = Math.max(1, Math.min(BATCH_MAX, perBatch))
    const queuedCount = await queueBatch(deps, node, replay, size)
    const from = Math.max(clock.elapsedMs(), readyAtMs.get(replay.customer_no) ?? 0)
    readyAtMs.set(replay.customer_no, from + (queuedCount * windowMs) / limit)
  }
  const evictRates = (running: readonly store.RunningReplay[]) => {
    const customers = new Set(running.map(({ customer_no }) => customer_no))
    const nowMs = clock.elapsedMs()
    for (const [no, atMs] of readyAtMs)
      if (atMs <= nowMs && !customers.has(no)) readyAtMs.delete(no)
  }
  return {
    /**
     * Runs at most one batch of each customer. Returns the time to the next, in milliseconds;
     * infinity if no replay runs.
     */
    async runBatches(): Promise<number> {
      const running = await store.readRunningReplays(db)
      evictRates(running)
      const abandonedNos = findAbandoned(running)
      let waitMs = Number.POSITIVE_INFINITY
      for (const [customerNo, replays] of Map.groupBy(running, (replay) => replay.customer_no)) {
        const foreign = replays.filter(({ owner }) => owner !== node)
        if (foreign.length > 0) {
          if (foreign.every(({ webhook_no }) => abandonedNos.has(webhook_no))) {
            await claim(running, customerNo)
            waitMs = 0
          }
          continue
        }
        const remainingMs = (readyAtMs.get(customerNo) ?? 0) - clock.elapsedMs()
        if (remainingMs > 0) {
          waitMs = Math.min(waitMs, remainingMs)
          continue
        }
        const startMs = clock.elapsedMs()
        await runBatch(replays.toSorted((a, b) => a.heartbeat - b.heartbeat)[0]!)
        await pause(Math.max(REST_MIN_MS, (clock.elapsedMs() - startMs) * REST_TIMES))
        waitMs = 0
      }
      isFirstRun = false
      if (running.length > 0 && clock.elapsedMs() - heartbeatAtMs >= HEARTBEAT_MS) {
        heartbeatAtMs = clock.elapsedMs()
        await db.write((tx) => store.sendHeartbeat(tx, node), { single: true })
      }
      return running.length === 0 ? waitMs : Math.min(waitMs, POLL_MS)
    },
  }
}

interface ReplayBatch {
  /** The last id that the batch processes. */
  readonly position: string
  readonly isLast: boolean
  /** Queues the deliveries; returns how many were not pending. */
  queue(tx: Tx, row: Registration): Promise<number>
}

/** Queues one batch in one transaction with its progress. Returns how many deliveries. */
async function queueBatch(
  deps: ReplayWorkerDeps,
  node: string,
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
    const isOwner = current?.owner === node && current.position === replay.position
    if (!isOwner || current.ended_at !== null || current.started_at !== replay.started_at) return 0
    const currentRow = await registrationOf(tx, { scope, no })
    if (!batch || !currentRow || currentRow.deleted_at !== null) {
      await store.endReplay(tx, replay, clock.now(), 'stopped')
      return 0
    }
    const count = await batch.queue(tx, currentRow)
    await store.advanceReplay(tx, replay, batch.position, count)
    if (batch.isLast) await store.endReplay(tx, replay, clock.now(), 'finished')
    return count
  })
  if (queuedCount > 0) wake([no])
  return queuedCount
}

/** Reads the next batch: at most `size` matching rows, from at most `PAGES_MAX` pages. */
async function readBatch(
  deps: ReplayWorkerDeps,
  replay: store.RunningReplay,
  row: Registration,
  size: number,
): Promise<ReplayBatch> {
  const { db, clock } = deps
  const types = new Set(JSON.parse(replay.types) as string[])
  const matches = (type: string) => types.has(type) && canReceive(deps, row, type)
  const rangeAfter = (after: string) => ({ after, until: replay.until_id, limit: PAGE })
  if (replay.kind === 'recover') {
    const { rows, position, isLast } = await collectRows({
      read: (after) => readDeliveryPage(db, row.no, rangeAfter(after)),
      includes: ({ state, event_type }: DeliveryHead) => hasFailed(state) && matches(event_type),
      position: replay.position,
      size,
    })
    return { position, isLast, queue: (tx) => requeueFailed(tx, row.scope, rows, clock.now()) }
  }
  const { rows, position, isLast } = await collectRows({
    read: (after) => readEventPage(db, row.scope, rangeAfter(after)),
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
  deps: ReplayWorkerDeps,
  tx: Tx,
  { scope, api_version: version }: Registration,
  id: string,
): Promise<void> {
  const event = await findEvent(tx, scope, id)
  const body = event && renderBody(deps, event, version)
  if (event && body !== undefined) storeBody(tx, event, version, body)
}
