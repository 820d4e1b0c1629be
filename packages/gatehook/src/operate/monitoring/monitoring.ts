/**
 * The part of monitoring that lower modules feed: it records served requests and attempts of
 * deliveries, and passes the attempts to open streams. `console-api.ts` serves and maintains the
 * rows.
 */
import type { RightsOf } from '../../identity/access/stored-data.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import type { AttemptReport } from '../../outbound/deliveries/attempt-feed.ts'
import type { Database } from '../../platform/storage/database.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import type { ObserveExchange } from '../../protocol/http/exchange.ts'
import { readKeyRefusals } from './key-usage.ts'
import { LiveHub } from './live-hub.ts'
import { type PeakUse, readPeak } from './peak.ts'
import { createPositions } from './position.ts'
import { type RequestLogMode, RequestRecorder } from './recorder.ts'
import { createRequestReader, type LogOwner, type RequestReader } from './request-reader.ts'
import type { GateSources } from './request-view.ts'
import type { MonitoringStore } from './store.ts'

export interface MonitoringOptions extends GateSources {
  readonly store: MonitoringStore
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process. */
  readonly node: string
  readonly mode: RequestLogMode
  readonly recordsBodies: boolean
  readonly secretFields: ReadonlySet<string>
  readonly declaredKinds: ReadonlyMap<string, string>
  /** Returns what a reader of the log may read. */
  readonly rightsOf: RightsOf
  /** The engine's database. */
  readonly db: Database
  readonly cursorKeys: MacKeys
}

export interface Monitoring {
  readonly options: MonitoringOptions
  /** The id of this node in the registry. */
  readonly node: string
  readonly recorder: RequestRecorder
  readonly hub: LiveHub
  /** The slot of this node in positions, once `nodes.ts` has assigned it. */
  readonly slot: { value: number }
  readonly observe: ObserveExchange
  /** Stores the records and counts that this node has in memory, unless the store is away. */
  readonly flush: () => Promise<void>
  /** Receives the attempts of deliveries of this node. */
  onAttempts(report: AttemptReport): void
  readonly requests: RequestReader
  /** Reads the most requests of one credential of a customer in a quarter of an hour of a day. */
  readPeak(owner: LogOwner): Promise<PeakUse>
  /** Returns the responses 401 and 403 of keys in about the last 24 hours, by id. */
  readKeyRefusals(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
}

export function createMonitoring(options: MonitoringOptions): Monitoring {
  const { store, clock } = options
  const hub = new LiveHub()
  const slot = { value: 0 }
  const nextPosition = createPositions(() => slot.value)
  const recorder = new RequestRecorder({ ...options, nextPosition })
  const flush = () => whileAvailable(recorder.flush(), undefined)
  const figures = () => recorder.figures()
  return {
    options,
    node: options.node,
    recorder,
    hub,
    slot,
    observe: recorder.observe,
    flush,
    requests: createRequestReader({ ...options, flush, figures }),
    async readPeak(owner) {
      await flush()
      return readPeak(store, owner, clock.now())
    },
    readKeyRefusals: (ids) => readKeyRefusals(store, ids, clock.now()),
    onAttempts(report) {
      recorder.countAttempts(report.counts)
      if (hub.has('deliveries')) publishAttempts(hub, report, clock.now())
    },
  }
}

/** Publishes one message for each endpoint, with its counts and its latest attempts. */
function publishAttempts(hub: LiveHub, { counts, attempts }: AttemptReport, now: number): void {
  for (const entry of counts) {
    const own = attempts.filter(({ webhook }) => webhook === entry.webhook)
    const data = {
      ...entry,
      at: isoTime(now),
      attempts: own.map(({ customer, mode, webhook, at, next_attempt_at, ...attempt }) => ({
        ...attempt,
        at: isoTime(at),
        next_attempt_at: next_attempt_at === null ? null : isoTime(next_attempt_at),
      })),
    }
    hub.publish({ topic: 'deliveries', data })
  }
}
