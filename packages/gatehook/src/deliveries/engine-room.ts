/**
 * The engine with all it takes, on whatever thread this is: its own connection to the database, its
 * own sockets, its own clock that follows the service's.
 */

import { readSecretFiles } from '../config/secret-files.ts'
import { createRecorder } from '../events/store.ts'
import { SettableClock, wallClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { systemRandom } from '../kernel/random.ts'
import { Vault } from '../kernel/secret.ts'
import { followSecrets, secretKeeper } from '../secrets/keeper.ts'
import { openDatabase } from '../storage/open.ts'
import { clockFollower, followClock } from '../system/clock.ts'
import { lateTransport } from '../transport/late-transport.ts'
import type { Rate } from './bucket.ts'
import { deliveryStore } from './delivery-store.ts'
import { Engine } from './engine.ts'
import type { Figures } from './figures.ts'
import { nodeLeases } from './leases.ts'
import { turnEngine } from './loop.ts'
import { createOutbox } from './outbox.ts'
import { signedPost } from './signed-post.ts'

/** Plain values: they cross from one thread to another. */
export interface EngineSettings {
  readonly databaseUrl: string
  /** The newest first. */
  readonly masterSecrets: readonly string[]
  /** Where they are read again after a rotation; undefined: nowhere. */
  readonly secretFile: string | undefined
  readonly testClock: boolean
  readonly scheduleS: readonly number[]
  readonly timeoutMs: number
  readonly allowPrivate: boolean
  /** PEM. */
  readonly ca: string | undefined
  readonly rate: Rate | undefined
  readonly userAgent: string
  /** The newest version: the shape of the engine's own events. */
  readonly shape: string
  /** By event type, scopes each of which lets a registration receive it (§9.14). */
  readonly coverage: Readonly<Record<string, readonly string[]>>
}

export interface EngineRoom {
  /** Registrations, by number, that have something new. */
  wake(nos: readonly number[]): void
  figures(): Figures
  stop(limitMs: number): Promise<void>
}

/**
 * Little is read again. A commit after a page was split looks through the whole cache (SQLite moves
 * pages by way of a number far beyond the last): with 32 MiB that took two thirds of a small one.
 */
const CACHE_KIB = 1_024
/**
 * A result is kept through the end of this process once it is committed. Where the machine stops,
 * those of the last moment are sent again.
 */
const SYNC_AFTER_MS = 10

/** Deliveries of all nodes are told of here. */
export const CHANNEL = 'gatehook_deliveries'

/** Throws `StorageError` when the database cannot be opened. */
export async function openEngineRoom(settings: EngineSettings, log: Log): Promise<EngineRoom> {
  const random = systemRandom()
  const clock = settings.testClock ? new SettableClock(wallClock) : wallClock
  const vault = new Vault(settings.masterSecrets, random)
  const own = { poolSize: 4, cacheKib: CACHE_KIB, syncAfterMs: SYNC_AFTER_MS }
  const db = await openDatabase(settings.databaseUrl, { log, clock: wallClock, ...own })
  const keeper = clock instanceof SettableClock ? clockFollower({ db, clock }) : undefined
  await keeper?.follow()
  const stopClock = keeper ? followClock(keeper, log) : async () => {}
  const configured = () =>
    (settings.secretFile && readSecretFiles(settings.secretFile)) || settings.masterSecrets
  const secrets = secretKeeper({ db, clock, vault, configured })
  await secrets.follow()
  const stopSecrets = followSecrets(secrets, log)
  const transport = lateTransport({ ...settings, clock })
  if (settings.ca !== undefined) await transport.open()
  let wake = (_nos: readonly number[]) => {}
  let nudge = () => {}
  // A delivery of a type that is declared no more was covered when it was made.
  const coveredBy = (type: string) =>
    Object.hasOwn(settings.coverage, type) ? settings.coverage[type] : undefined
  const outbox = createOutbox({
    clock,
    render: (_, object) => object, // the engine's own events have one shape
    effective: (version) => version,
    coveredBy,
    wake: (nos) => wake(nos),
  })
  const record = createRecorder({ clock, random, shape: settings.shape, sinks: [outbox] })
  const leases = nodeLeases({ db, clock, log, node: random.bytes(16).toString('hex') })
  const engine = new Engine({
    store: deliveryStore({ db, clock, vault, record, coveredBy }),
    leases,
    post: signedPost(transport.send, settings.userAgent),
    clock,
    chance: () => random.bytes(4).readUInt32BE() / 2 ** 32,
    log,
    scheduleS: settings.scheduleS,
    rate: settings.rate,
    nudge: () => nudge(),
  })
  const loop = await turnEngine(engine, leases, log)
  nudge = loop.nudge
  wake = (nos) => {
    engine.wake(nos).then(loop.nudge, (error) => log.warn({ err: error }, 'a call was missed'))
  }
  const deaf = await db.listen(CHANNEL, (message) => wake(numbersIn(message)))
  return {
    wake,
    figures: () => engine.figures(),
    async stop(limitMs) {
      await deaf()
      const late = setTimeout(transport.close, limitMs) // what still runs then is aborted
      await loop.stop()
      clearTimeout(late)
      await stopClock()
      await stopSecrets()
      transport.close()
      await db.close()
    },
  }
}

export const textOf = (nos: readonly number[]): string => nos.join(' ')

const numbersIn = (message: string): number[] => message.split(' ').filter(Boolean).map(Number)
