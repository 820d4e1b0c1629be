/**
 * The delivery engine as the app uses it: starts it on a thread of its own, wakes it, reads its
 * figures, drains it (§2.4). On the API's event loop the engine would take four fifths of the API's
 * throughput. The app decides which nodes deliver (§2.5); every node inserts deliveries and wakes
 * the nodes that send them.
 */
import { Worker } from 'node:worker_threads'
import { type Log, relayLine } from '../../kernel/log.ts'
import { pollSecretState } from '../../platform/secrets/vault-sync.ts'
import { type Database, StorageError, StorageWaitError } from '../../platform/storage/database.ts'
import type { PolledValue } from '../../platform/storage/shared-poll.ts'
import type { AttemptReport } from './attempt-feed.ts'
import type { EngineSettings } from './host.ts'
import { type DeliveryFigures, NO_FIGURES } from './metrics.ts'
import {
  CHANNEL,
  type CommittedDelivery,
  encodeWakeUp,
  type ResendRequest,
  type WakeDeliveries,
  type WakeUp,
} from './wake-up.ts'

interface DeliveriesDeps {
  readonly db: Database
  readonly log: Log
  /** Whether this node sends. */
  readonly delivers: boolean
  readonly settings: EngineSettings
  readonly listeners: EngineListeners
}

/** Receives what the engine reports to the main thread. */
export interface EngineListeners {
  /** Receives the attempts of this node, each second. */
  readonly onAttempts: (report: AttemptReport) => void
  /** Called when another node has stored a job that is due. */
  readonly onJobsDue: () => void
  /** Called when a command has changed what the poll reads. */
  readonly onStateChanged?: () => void
  /** Called when another process has taken the database over. */
  readonly onTakenOver?: () => void
}

export interface Deliveries {
  /** To be called after a commit, with registrations that have new deliveries or changed. */
  readonly wake: WakeDeliveries
  figures(): DeliveryFigures
  /** Has the engine read the state of the master secret when it has changed. */
  readonly polled: readonly PolledValue[]
  start(): Promise<void>
  stop(): Promise<void>
}

/** A draining node waits this long for attempts in flight (§2.4). */
const DRAIN_LIMIT_MS = 10_000

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { db, log, settings } = deps
  let thread: EngineThread | undefined
  let pending: PendingWakeUp | undefined
  const wakeEngines = (wakeUp: WakeUp) => {
    // The engine of this node notifies the others, unless this node sends the deliveries.
    if (thread?.wake(wakeUp)) return
    db.notify(CHANNEL, encodeWakeUp(withoutDeliveries(wakeUp))).catch((error: unknown) =>
      log.debug({ err: error }, 'other nodes were not notified; their scan finds the deliveries'),
    )
  }
  return {
    wake(webhookNos, resends = [], committed = []) {
      if (!pending) {
        // One message serves all transactions that commit in this turn of the event loop.
        const current: PendingWakeUp = (pending = { nos: new Set(), resends: [], committed: [] })
        setImmediate(() => {
          pending = undefined
          const { nos, resends, committed } = current
          wakeEngines({ webhookNos: [...nos], resends, committed })
        })
      }
      for (const no of webhookNos) pending.nos.add(no)
      pending.resends.push(...resends)
      pending.committed.push(...committed)
    },
    figures: () => thread?.figures() ?? NO_FIGURES,
    polled: deps.delivers ? [pollSecretState(async () => thread?.syncSecrets() ?? false)] : [],
    async start() {
      if (deps.delivers) thread = await startEngineThread(settings, log, deps.listeners)
    },
    async stop() {
      await thread?.stop(DRAIN_LIMIT_MS)
      thread = undefined
    },
  }
}

interface PendingWakeUp {
  readonly nos: Set<number>
  readonly resends: ResendRequest[]
  readonly committed: CommittedDelivery[]
}

/** Names the registrations of committed deliveries instead: their rows are read. */
const withoutDeliveries = ({ webhookNos, resends, committed = [] }: WakeUp): WakeUp => ({
  webhookNos: [...new Set([...webhookNos, ...committed.map(({ webhookNo }) => webhookNo)])],
  resends,
})

export type ToWorker =
  | { readonly wake: WakeUp }
  | { readonly syncSecrets: true }
  | { readonly stop: number }
export type FromWorker =
  | { readonly ready: true }
  | { readonly log: string }
  | { readonly figures: DeliveryFigures }
  | { readonly attempts: AttemptReport }
  | { readonly jobsDue: true }
  | { readonly stateChanged: true }
  | { readonly takenOver: true }
  | { readonly unopened: UnopenedDatabase }

/** The engine cannot open the database: a sentence, because a class does not leave its thread. */
export interface UnopenedDatabase {
  readonly sentence: string
  /** Whether it may be opened later. */
  readonly isTemporary: boolean
}

interface EngineThread {
  /** Returns false while the engine does not run. */
  wake(wakeUp: WakeUp): boolean
  /** Returns whether the engine runs: it then reads the state of the master secret. */
  syncSecrets(): boolean
  figures(): DeliveryFigures
  stop(limitMs: number): Promise<void>
}

/** Deliveries of at most 4,096 characters in messages that the engine has not received. */
const COMMITTED_MAX = 1_024

/** The settings of an engine's thread. */
export interface EngineWorkerData {
  readonly settings: EngineSettings
  readonly level: string
  /** One number, which both threads change: committed deliveries in messages. */
  readonly underway: Int32Array
}

const RESTART_FIRST_MS = 1_000
const RESTART_MAX_MS = 30_000

/**
 * Starts the engine on its thread, and restarts it after a crash. Resolves when the engine runs;
 * throws when the first start fails; `StorageError` if the database cannot be opened.
 */
export async function startEngineThread(
  settings: EngineSettings,
  log: Log,
  { onAttempts, onJobsDue, onStateChanged, onTakenOver }: EngineListeners,
): Promise<EngineThread> {
  let figures = NO_FIGURES
  let worker: Worker | undefined
  let underway: Int32Array | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = RESTART_FIRST_MS
  let isStopping = false

  const open = () =>
    new Promise<void>((resolve, reject) => {
      // Packages contain .js; the checkout runs .ts.
      const file = import.meta.url.replace(/deliveries(\.\w+)$/, 'engine-worker$1')
      const shared = (underway = new Int32Array(new SharedArrayBuffer(4)))
      const workerData: EngineWorkerData = { settings, level: log.level, underway: shared }
      const thread = new Worker(new URL(file), { workerData })
      worker = thread
      thread.on('message', (message: FromWorker) => {
        if ('log' in message) return relayLine(log, message.log)
        if ('attempts' in message) return onAttempts(message.attempts)
        if ('jobsDue' in message) return onJobsDue()
        if ('stateChanged' in message) return onStateChanged?.()
        if ('takenOver' in message) return onTakenOver?.()
        if ('unopened' in message) {
          const { sentence, isTemporary } = message.unopened
          const error = new (isTemporary ? StorageWaitError : StorageError)(sentence)
          log.warn({ err: error }, 'the delivery engine did not start')
          return reject(error)
        }
        if ('figures' in message) figures = message.figures
        else resolve()
      })
      thread.on('error', (error) => {
        log.error({ err: error }, 'the delivery engine crashed')
        reject(error)
      })
      thread.on('exit', () => {
        if (worker === thread) worker = undefined
        reject(new Error('the delivery engine ended before it was ready'))
        if (!isStopping) restart()
      })
    })
  const restart = () => {
    timer = setTimeout(() => {
      open().then(
        () => {
          pauseMs = RESTART_FIRST_MS
          log.info('the delivery engine restarted')
        },
        () => undefined, // it is logged; the exit event schedules the next start
      )
    }, pauseMs)
    pauseMs = Math.min(pauseMs * 2, RESTART_MAX_MS)
  }

  await open().catch((error) => {
    isStopping = true
    clearTimeout(timer)
    throw error
  })
  return {
    wake(wakeUp) {
      if (!worker || !underway) return false
      const count = wakeUp.committed?.length ?? 0
      const isTaken = Atomics.load(underway, 0) + count <= COMMITTED_MAX
      if (isTaken) Atomics.add(underway, 0, count)
      const wake = isTaken ? wakeUp : withoutDeliveries(wakeUp)
      worker.postMessage({ wake } satisfies ToWorker)
      return true
    },
    syncSecrets() {
      worker?.postMessage({ syncSecrets: true } satisfies ToWorker)
      return worker !== undefined
    },
    figures: () => figures,
    async stop(limitMs) {
      isStopping = true
      clearTimeout(timer)
      const thread = worker
      if (!thread) return
      const exit = new Promise<void>((resolve) => void thread.once('exit', () => resolve()))
      thread.postMessage({ stop: limitMs } satisfies ToWorker)
      await exit
    },
  }
}
