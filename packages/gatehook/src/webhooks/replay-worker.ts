/**
 * Replays in the background (§9.14): a batch at a time, a transaction each, at most at the
 * customer's delivery rate. Where each one stands is stored with its batch, so another process goes
 * on after a crash. A node owns the replays it works on and shows that it lives by their `beat`.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { EventHead } from '../deliveries/log-store.ts'
import { envelope, type RenderObject } from '../events/event.ts'
import type { EventAccess } from '../events/event-access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Random } from '../kernel/random.ts'
import type { Database, Tx } from '../storage/database.ts'
import { receives } from './authority.ts'
import type { Registration } from './registration.ts'
import { registrationOf } from './registration-store.ts'
import * as store from './replay-store.ts'

export interface ReplayWorkerDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly types: EventAccess
  readonly render: RenderObject
  readonly effective: (version: string) => string
  readonly wake: (webhookNos: readonly number[]) => void
  /** Of customers that have none of their own; undefined: none. */
  readonly rate: { readonly limit: number; readonly windowMs: number } | undefined
}

export interface ReplayWorker {
  /** There is a new replay. */
  readonly nudge: () => void
  start(): void
  stop(): Promise<void>
}

/** Deliveries of one transaction. */
const BATCH_MAX = 25
/** Pages without a matching row that one transaction passes. */
const PAGES_MAX = 4
/** A batch is at most what the rate allows in this time, so that replays go out evenly. */
const BATCH_MS = 250
/** Where deliveries are not limited, a replay is. */
const UNLIMITED = { limit: 1_000, windowMs: 1_000 }
/** After a batch of `t` ms the worker rests `t × REST_TIMES`, and at least `REST_MIN_MS`. */
const REST_TIMES = 4
const REST_MIN_MS = 5
/** How often a node looks for replays of others, and how often it shows that it lives. */
const LOOK_MS = 1_000
const BEAT_MS = 2_000
/** A replay without a beat for this long, as this node saw it, has lost its node. */
const LOST_MS = 8_000

export function createReplayWorker(deps: ReplayWorkerDeps): ReplayWorker {
  const { log } = deps
  const turns = replayTurns(deps)
  const stopping = new AbortController()
  let wake: (() => void) | undefined
  let nudged = false
  let running: Promise<void> | undefined
  const rest = (ms: number, early: boolean) =>
    new Promise<void>((resolve) => {
      if (stopping.signal.aborted || (early && nudged)) return resolve()
      const timer = setTimeout(resolve, ms)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      stopping.signal.addEventListener('abort', end, { once: true })
      if (early) wake = end
    })
  const loop = async () => {
    while (!stopping.signal.aborted) {
      nudged = false
      let waitMs = LOOK_MS
      try {
        waitMs = await turns.next()
      } catch (error) {
        log.warn({ err: error }, 'a replay could not go on; it is retried')
      }
      await rest(Math.min(waitMs, LOOK_MS), waitMs >= LOOK_MS)
    }
  }
  return {
    nudge() {
      nudged = true
      wake?.()
    },
    start() {
      running ??= loop()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** `next` does one batch for each customer whose turn it is; gives when to come back. */
function replayTurns(deps: ReplayWorkerDeps) {
  const { db, clock, random } = deps
  const node = random.bytes(16).toString('hex')
  /** By customer number: when its rate allows the next batch, in elapsed milliseconds. */
  const readyAt = new Map<number, number>()
  /** By registration number: the beat this node saw last, and when it changed. */
  const seen = new Map<number, { beat: number; atMs: number }>()
  let beatAtMs = 0
  let first = true

  /** Whether the node that owns a replay shows no life. */
  const isLost = ({ webhook_no, owner, beat }: store.RunningReplay): boolean => {
    if (owner === null) return true
    // Processes on SQLite come one after the other.
    if (first && !db.dialect.shared) return true
    const before = seen.get(webhook_no)
    const nowMs = clock.elapsedMs()
    if (before?.beat === beat) return nowMs - before.atMs >= LOST_MS
    seen.set(webhook_no, { beat, atMs: nowMs })
    return false
  }
  /** One node works on all replays of a customer, so that its rate holds for them together. */
  const claim = (running: readonly store.RunningReplay[], customerNo: number) =>
    db.write(async (tx) => {
      await store.lockCustomerNo(tx, customerNo)
      const current = await store.runningReplays(tx)
      const ofCustomer = current.filter((one) => one.customer_no === customerNo)
      const known = new Map(running.map((one) => [one.webhook_no, one.beat]))
      const isForeign = (one: store.RunningReplay) =>
        one.owner !== null && one.owner !== node && known.get(one.webhook_no) !== one.beat
      if (ofCustomer.some(isForeign)) return
      for (const { webhook_no, owner } of ofCustomer) {
        if (owner !== node) await store.ownReplay(tx, webhook_no, node)
      }
    })
  const batchFor = async (replay: store.RunningReplay): Promise<void> => {
    const { limit, windowMs } = rateOf(replay) ?? deps.rate ?? UNLIMITED
    const perBatch = Math.floor((limit * BATCH_MS) / windowMs)
    const size = Math.max(1, Math.min(BATCH_MAX, perBatch))
    const made = await step(deps, node, replay, size)
    const from = Math.max(clock.elapsedMs(), readyAt.get(replay.customer_no) ?? 0)
    readyAt.set(replay.customer_no, from + (made * windowMs) / limit)
  }
  return {
    async next(): Promise<number> {
      const running = await store.runningReplays(db)
      const byCustomer = Map.groupBy(running, (one) => one.customer_no)
      const nowMs = clock.elapsedMs()
      for (const [no, at] of readyAt) if (at <= nowMs && !byCustomer.has(no)) readyAt.delete(no)
      for (const no of seen.keys()) {
        if (!running.some((one) => one.webhook_no === no)) seen.delete(no)
      }
      let soonest = Number.POSITIVE_INFINITY
      for (const [customerNo, all] of byCustomer) {
        if (all.some((one) => one.owner !== node)) {
          const lost = all.filter((one) => one.owner !== node).map(isLost)
          if (lost.every(Boolean)) {
            await claim(running, customerNo)
            soonest = 0
          }
          continue
        }
        const ready = readyAt.get(customerNo) ?? 0
        if (ready > clock.elapsedMs()) {
          soonest = Math.min(soonest, ready - clock.elapsedMs())
          continue
        }
        const begunMs = clock.elapsedMs()
        await batchFor(all.toSorted((a, b) => a.beat - b.beat)[0]!)
        await pause(Math.max(REST_MIN_MS, (clock.elapsedMs() - begunMs) * REST_TIMES))
        soonest = 0
      }
      first = false
      if (running.length > 0 && clock.elapsedMs() - beatAtMs >= BEAT_MS) {
        beatAtMs = clock.elapsedMs()
        await db.write((tx) => store.beatReplays(tx, node))
      }
      return soonest
    },
  }
}

/** The customer's own delivery rate, where it has one. */
function rateOf({ limits }: store.RunningReplay) {
  if (limits === '{}') return undefined
  const own = JSON.parse(limits).delivery_rate as { limit: number; window_s: number } | undefined
  return own && { limit: own.limit, windowMs: own.window_s * 1000 }
}

interface Batch {
  /** The last id that is passed. */
  readonly position: string
  readonly ended: boolean
  queue(tx: Tx, row: Registration): Promise<number>
}

/** One batch in one transaction with its new position; gives how many deliveries it queued. */
async function step(
  deps: ReplayWorkerDeps,
  node: string,
  replay: store.RunningReplay,
  size: number,
): Promise<number> {
  const { db, clock, wake } = deps
  const { webhook_no: no } = replay
  const row = await registrationOf(db, no)
  const batch = row && row.deleted_at === null ? await batchOf(deps, replay, row, size) : undefined
  const made = await db.write(async (tx) => {
    const current = await store.lockReplay(tx, no)
    const isOurs = current?.owner === node && current.position === replay.position
    if (!isOurs || current.ended_at !== null || current.started_at !== replay.started_at) return 0
    const now = await registrationOf(tx, no)
    if (!batch || !now || now.deleted_at !== null) {
      await store.endReplay(tx, no, clock.now(), 'stopped')
      return 0
    }
    const count = await batch.queue(tx, now)
    await store.advanceReplay(tx, no, batch.position, count)
    if (batch.ended) await store.endReplay(tx, no, clock.now(), 'finished')
    return count
  })
  if (made > 0) wake([no])
  return made
}

/** The next rows: at most `size` that match, of at most `PAGES_MAX` pages. */
async function batchOf(
  deps: ReplayWorkerDeps,
  replay: store.RunningReplay,
  row: Registration,
  size: number,
): Promise<Batch> {
  const { db, clock } = deps
  const types = new Set(JSON.parse(replay.types) as string[])
  const wanted = (type: string) => types.has(type) && receives(deps, row, type)
  if (replay.kind === 'recover') {
    const read = (after: string) => store.logPage(db, row.no, after, replay.until_id)
    const isWanted = (one: store.LogHead) => store.hasFailed(one.state) && wanted(one.event_type)
    const { rows, ...where } = await collect(read, isWanted, replay.position, size)
    return { ...where, queue: (tx) => store.queueFailed(tx, rows, clock.now()) }
  }
  const read = (after: string) => store.eventPage(db, row.scope, after, replay.until_id)
  const isWanted = (one: EventHead) => wanted(one.type)
  const { rows, ...where } = await collect(read, isWanted, replay.position, size)
  return {
    ...where,
    async queue(tx, now) {
      const count = await store.queueEvents(tx, now, rows, clock.now())
      for (const { id } of rows) await storeBody(deps, tx, now, id)
      return count
    },
  }
}

async function collect<T extends { readonly id: string }>(
  read: (after: string) => Promise<T[]>,
  isWanted: (one: T) => boolean,
  from: string,
  size: number,
): Promise<{ rows: T[]; position: string; ended: boolean }> {
  let position = from
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page = await read(position)
    const matching = page.filter(isWanted)
    const rows = matching.slice(0, size)
    const isCut = matching.length > size
    position = (isCut ? rows.at(-1)! : (page.at(-1) ?? { id: position })).id
    const ended = !isCut && page.length < store.PAGE
    if (rows.length > 0 || ended) return { rows, position, ended }
  }
  return { rows: [], position, ended: false }
}

/** The body in the registration's version, where the event was recorded in another one. */
async function storeBody(
  { effective, render }: ReplayWorkerDeps,
  tx: Tx,
  { scope, api_version: version }: Registration,
  id: string,
): Promise<void> {
  const event = await store.eventObject(tx, scope, id)
  const served = effective(version)
  if (!event || served === event.shape || event.collection === null) return
  const shown = render(event.collection, event.object, event.shape, served)
  const head = { id, type: event.type, created: event.created, scope }
  await store.saveBody(tx, scope, id, version, envelope(head, shown))
}
