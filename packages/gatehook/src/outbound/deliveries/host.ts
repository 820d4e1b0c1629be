/**
 * Hosts the engine: opens its database connection, its sockets and its clock, and connects them.
 * Runs on whichever thread calls it.
 */

import { referenceTables } from '../../engine-tables.ts'
import type { Coverage } from '../../history/events/event-access.ts'
import { createRecentEvents } from '../../history/events/lost-events.ts'
import { followPromotions } from '../../history/events/promotions.ts'
import { createRecorder } from '../../history/events/store.ts'
import type { DeclaredObjects } from '../../history/events/stored-objects.ts'
import { type ClockStep, SettableClock, wallClock } from '../../kernel/clock.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { systemRandom } from '../../kernel/random.ts'
import { Vault } from '../../kernel/secret.ts'
import { createClock, SteadyClock } from '../../kernel/steady-clock.ts'
import { readSecretFiles } from '../../platform/config/secret-files.ts'
import { createEnqueue } from '../../platform/jobs/queue.ts'
import { judgeStep } from '../../platform/nodes/server-clock.ts'
import { createRetriedSync, createVaultSync } from '../../platform/secrets/vault-sync.ts'
import { clockFollower, followClock } from '../../platform/storage/clock-setting.ts'
import type { Database } from '../../platform/storage/database.ts'
import { openDatabase } from '../../platform/storage/open.ts'
import { startTracing, type TracingSettings } from '../../platform/telemetry/open-telemetry.ts'
import { createEventJobs, type EventHandlers } from '../jobs/event-jobs.ts'
import { createLazyTransport } from '../transport/lazy-transport.ts'
import type { AttemptReport } from './attempt-feed.ts'
import type { DeliveryRate } from './delivery-rate.ts'
import { DeliveryEngine } from './engine.ts'
import { engineStore } from './engine-store.ts'
import { nodeLeases } from './leases.ts'
import { runEngine } from './loop.ts'
import { noteWebhooks, type RecentWebhook, reportLostWebhooks } from './lost-webhooks.ts'
import type { DeliveryFigures } from './metrics.ts'
import { createOutbox } from './outbox.ts'
import { signedPost } from './signature.ts'
import { traceDeliveries, tracePost } from './traced-post.ts'
import { createWakeRelay } from './wake-relay.ts'
import { CHANNEL, LEASES_CHANGED, type WakeUp } from './wake-up.ts'

/** Plain values, which can be passed to another thread. */
export interface EngineSettings {
  readonly database: DatabaseTarget
  /** The id of this node in the registry. */
  readonly node: string
  /** The name of this node. */
  readonly nodeName: string
  /** The newest first. */
  readonly masterSecrets: readonly string[]
  /** The file to read again after a rotation of the master secret; undefined: none. */
  readonly secretFile: string | undefined
  readonly testClock: boolean
  /** The step of the clock that the main thread doubts. */
  readonly doubt?: Pick<ClockStep, 'byMs' | 'leftMs'> | undefined
  readonly scheduleS: readonly number[]
  readonly timeoutMs: number
  readonly allowPrivate: boolean
  /** PEM. */
  readonly ca: string | undefined
  readonly rate: DeliveryRate | undefined
  readonly userAgent: string
  /** The newest version: the shape of the engine's own events. */
  readonly shape: string
  /** Undefined: traces are not exported. */
  readonly tracing?: TracingSettings | undefined
  /** The scopes by event type with which a registration receives the type (§9.14). */
  readonly coverage: Readonly<Record<string, Coverage>>
  readonly declaredObjects: DeclaredObjects
  /** The names of the service's handlers of each event type. */
  readonly eventHandlers: EventHandlers
}

export interface EngineHost {
  /** Notes new deliveries, changed registrations, and deliveries that a caller resends. */
  wake(wakeUp: WakeUp): void
  /** Reads the state of the master secret until it is applied. */
  syncSecrets(): void
  figures(): DeliveryFigures
  /** Returns the attempts that ended since the last call; undefined if there are none. */
  takeAttempts(): AttemptReport | undefined
  stop(limitMs: number): Promise<void>
}

/**
 * The engine reads few pages twice. A commit after a page split searches the whole page cache of
 * SQLite: with 32 MiB, the search took two thirds of a small commit.
 */
const CACHE_KIB = 1_024
/** PostgreSQL: connections for transactions, unless the settings have a number; and for reads. */
const CONNECTIONS = 4
/**
 * A committed result survives the end of this process. When the machine stops, results that are not
 * yet synced are lost, and their deliveries are resent.
 */
const SYNC_AFTER_MS = 10
/** Between two looks for a step of the machine's clock. */
const JUDGE_MS = 5_000

/**
 * Longest time between two looks for due work while none is due, on a node that other nodes notify
 * of new deliveries. Without notifications it looks each second.
 */
const IDLE_SCAN_MS = 10_000

const connectionsOf = ({ connections }: DatabaseTarget) => ({
  transactions: connections?.deliveries ?? CONNECTIONS,
  reads: Math.min(connections?.reads ?? CONNECTIONS, CONNECTIONS),
})

/** The outbox checked the scopes of a type that is no longer declared. */
const coverageOf =
  ({ coverage }: EngineSettings) =>
  (type: string): Coverage | undefined =>
    Object.hasOwn(coverage, type) ? coverage[type] : undefined

interface EngineHostDeps {
  readonly log: Log
  /** Called with messages of `CHANNEL` that are for the main thread. */
  readonly receivers?: Readonly<Record<string, () => void>>
  /** Called when another process has taken the database over. */
  readonly onTakenOver?: () => void
}

/** Lets the clock of the database decide steps of the machine; returns the end of it. */
const startJudging = (db: Database, clock: SteadyClock, log: Log) =>
  startInterval({
    intervalMs: JUDGE_MS,
    log,
    run: () => judgeStep(db, clock),
    failure: 'the clock of the database could not be read',
  })

function machineClock({ doubt }: EngineSettings): SteadyClock {
  const clock = new SteadyClock()
  if (doubt) clock.doubt(doubt.byMs, doubt.leftMs)
  return clock
}

/** Opens the engine and starts it. Throws `StorageError` when the database cannot be opened. */
export async function openEngineHost(
  settings: EngineSettings,
  { log, receivers = {}, onTakenOver }: EngineHostDeps,
): Promise<EngineHost> {
  const random = systemRandom()
  const base = machineClock(settings)
  const clock = createClock(settings.testClock, base)
  const vault = new Vault(settings.masterSecrets, random)
  const db = await openDatabase(settings.database, {
    log,
    clock: wallClock,
    connections: connectionsOf(settings.database),
    cacheKib: CACHE_KIB,
    syncAfterMs: SYNC_AFTER_MS,
    plansOnce: true,
    referenceTables,
    onTakenOver,
  })
  const testClock = clock instanceof SettableClock ? clockFollower({ db, clock }) : undefined
  await testClock?.follow()
  const stopClock = testClock ? followClock(testClock, log) : async () => {}
  const readSecrets = () =>
    (settings.secretFile && readSecretFiles(settings.secretFile)) || settings.masterSecrets
  const stopJudging = startJudging(db, base, log)
  const syncVault = createVaultSync({ db, clock, vault, readSecrets })
  const secretSync = createRetriedSync(syncVault, log)
  if (!(await syncVault())) secretSync.request()
  const transport = createLazyTransport({ ...settings, clock })
  if (settings.ca !== undefined) await transport.open()
  let wake = async (_wakeUp: WakeUp) => {}
  let nudge = () => {}
  const coveredBy = coverageOf(settings)
  const outbox = createOutbox({
    clock,
    render: ({ object }) => object, // the engine's own events have one shape
    effective: (version) => version,
    coveredBy,
    wake: (webhookNos, resends = [], committed) => void wake({ webhookNos, resends, committed }),
  })
  // The runner of jobs finds those of the engine's events at its next poll.
  const enqueue = createEnqueue({ clock, random, wake: () => {} })
  const sinks = [createEventJobs(settings.eventHandlers, enqueue)]
  const record = createRecorder({ clock, random, shape: settings.shape, outbox, sinks })
  const { node } = settings
  const announce = () => db.notify(CHANNEL, LEASES_CHANGED)
  const leases = nodeLeases({ db, clock, log, node, announce })
  const recent = createRecentEvents<RecentWebhook>(db, clock)
  const post = noteWebhooks(recent, signedPost(transport.send, settings.userAgent))
  const loss = { db, clock, random, vault, log, recent, node: settings.nodeName }
  const report = reportLostWebhooks(loss)
  const stopPromotions = followPromotions({ db, log, report })
  const tracing = settings.tracing && (await startTracing(settings.tracing))
  const engine = new DeliveryEngine({
    store: engineStore({ ...settings, db, clock, vault, record, coveredBy, log }),
    leases,
    post: tracing ? tracePost(tracing, post) : post,
    onEnd: tracing && traceDeliveries(tracing),
    clock,
    chance: () => random.bytes(4).readUInt32BE() / 2 ** 32,
    log,
    scheduleS: settings.scheduleS,
    rate: settings.rate,
    idleScanMs: db.isNotified ? IDLE_SCAN_MS : undefined,
    nudge: () => nudge(),
  })
  const loop = await runEngine(engine, leases, log)
  nudge = loop.nudge
  const relay = createWakeRelay({ db, log, node, engine, nudge })
  wake = relay.wake
  const stopListening = await db.listen(CHANNEL, (message) => {
    if (Object.hasOwn(receivers, message)) receivers[message]!()
    else if (message === LEASES_CHANGED) loop.renewLeases()
    else void relay.receive(message)
  })
  return {
    wake: (wakeUp) => void relay.wake(wakeUp),
    syncSecrets: secretSync.request,
    figures: () => engine.figures(),
    takeAttempts: () => engine.takeAttempts(),
    async stop(limitMs) {
      await Promise.all([stopListening(), stopJudging()])
      const timer = setTimeout(transport.close, limitMs) // aborts the attempts still in flight
      await loop.stop()
      clearTimeout(timer)
      await stopClock()
      await stopPromotions()
      await secretSync.stop()
      transport.close()
      await db.close()
      await tracing?.stop()
    },
  }
}
