/**
 * Receives every served request, counts it, and stores its record in batches. Never delays a
 * request: it holds a bounded number of records in memory, and drops further ones while the store
 * is slow or not available. Errors are dropped last.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { shareRuns } from '../../kernel/shared-runs.ts'
import type { AttemptCounts } from '../../outbound/deliveries/attempt-feed.ts'
import { storesNothing } from '../../platform/storage/storage-failure.ts'
import type { Answer } from '../../protocol/http/call.ts'
import type { Exchange, ObserveExchange } from '../../protocol/http/exchange.ts'
import { isProbe } from '../../protocol/http/probe.ts'
import type { ErrorCause } from './attention-store.ts'
import { addDeliveryCounts, addErrorCounts, addSeriesCounts } from './count-store.ts'
import { DeliveryCounter } from './delivery-counter.ts'
import { ErrorCounter, type ErrorKey } from './error-counter.ts'
import { RecentRequests } from './recent-requests.ts'
import {
  callerOf,
  causeOf,
  describeRequest,
  isError,
  isOfStranger,
  type RecordOptions,
  type RequestRecord,
} from './request-record.ts'
import { createRequestSampler, type SampledKind } from './request-sampler.ts'
import { SeriesCounter, type SeriesKey } from './series-counter.ts'
import { insertRequests, type MonitoringStore } from './store.ts'
import { addVolume, bytesOfRecord } from './volume.ts'

export type RequestLogMode = 'off' | 'errors' | 'all'

/** Records in memory that wait for the store, of each kind that is sampled. */
const WAITING_MAX = 2000
/** Records in one transaction. */
const BATCH_MAX = 512
/** How long a record waits for others; a crash loses the records of this time. */
export const FLUSH_MS = 500
/** How often counts are stored, and few records of a quiet node; a crash loses this time. */
const COUNTS_MS = 5000
/** Records that wake a store that sleeps. */
const WAKING_RECORDS = 64
/** Writes of a batch that may fail while the store answers, before its records are dropped. */
const FAILED_WRITES_MAX = 20

export interface RequestRecorderOptions extends RecordOptions {
  readonly mode: RequestLogMode
  readonly store: MonitoringStore
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process. */
  readonly node: string
  readonly nextPosition: (epochMs: number) => number
}

export interface RecorderFigures {
  readonly stored: number
  readonly sampled: number
  readonly dropped: number
}

/** Operators and their programs may reach a node without the balancer. */
const OF_OPERATORS = /^\/(?:admin|console|metrics)(?:\/|$)/

/** Pages, assets and sessions of console and portal. */
const OWN_PAGES = /^\/(?:console|assets|docs\/assets)(?:\/|$)|^\/portal(?:\/(?!api\/)|$)/

/** Whether a client of the Model Context Protocol opens a stream of `/mcp`, which has none. */
const opensAgentStream = ({ kind, method }: Exchange, answer: Answer | undefined): boolean =>
  kind === 'mcp' && method === 'GET' && answer?.status === 405

/**
 * Whether the log and the series leave out a request: probes, reads of console and portal
 * themselves, and the pages with their sessions, whose changes are in the audit trail.
 */
function isOwnTraffic(exchange: Exchange, answer: Answer | undefined) {
  const { route, method, principal } = exchange
  // The command line sends its requests within its process.
  if (principal?.kind === 'cli' || isProbe(exchange) || opensAgentStream(exchange, answer))
    return true
  if (OWN_PAGES.test(route)) return answer === undefined || answer.status < 500
  if (isError(answer)) return false
  if (method !== 'GET') return false
  if (principal?.inPortal !== undefined) return true
  return principal?.kind === 'operator' && route.startsWith('/admin/')
}

/**
 * Whether the log has a request that counts for no customer: changes and mistakes of people in the
 * portal, and mistakes of operators. A failure of the server counts, unless an operator or a
 * program of theirs reads the state of an installation that fails.
 */
function isOutsideOfCounts(exchange: Exchange, answer: Answer | undefined) {
  const { kind, principal, route, method } = exchange
  if (answer !== undefined && answer.status >= 500) {
    return method === 'GET' && /^\/(?:admin|console)\//.test(route)
  }
  // A page whose session has ended has no principal.
  if (kind === 'portal') return !principal || principal.inPortal !== undefined
  return principal?.kind === 'operator' && route.startsWith('/admin/') && isError(answer)
}

const keyOf = (exchange: Exchange): SeriesKey => {
  const caller = callerOf(exchange)
  return {
    customer: caller?.customer ?? '',
    mode: caller?.mode ?? '',
    caller: caller?.keyId ?? caller?.clientId ?? '',
    version: exchange.version ?? '',
  }
}

const errorKeyOf = (
  exchange: Exchange,
  answer: Answer | undefined,
  { customer, mode, version }: SeriesKey,
): ErrorKey => ({
  error: exchange.failure ?? (answer ? 'unknown' : 'aborted'),
  status: answer?.status ?? 0,
  route: exchange.route,
  version,
  customer,
  mode,
})

export class RequestRecorder {
  readonly #options: RequestRecorderOptions
  readonly #series = new SeriesCounter()
  readonly #errors = new ErrorCounter()
  readonly #deliveries = new DeliveryCounter()
  readonly #takesSample = createRequestSampler()
  /** Records that wait for the store. */
  readonly #waiting: Readonly<Record<SampledKind, RequestRecord[]>> = {
    error: [],
    success: [],
    stranger: [],
  }
  #storedBytes = 0
  readonly #figures = { stored: 0, sampled: 0, dropped: 0 }
  #countsStoredAtMs = 0
  #failedWrites = 0
  readonly #flushShared: () => Promise<void>
  /** Whether the next flush stores counts that are not due. */
  #countsRequested = false
  #lastCause: ErrorCause | undefined
  readonly #recent = new RecentRequests()

  constructor(options: RequestRecorderOptions) {
    this.#options = options
    this.#flushShared = shareRuns(() => this.#store(), { clock: options.clock })
  }

  /** Counts and records a response; bound, so that it can be passed on. */
  readonly observe: ObserveExchange = (exchange, answer, ms) => {
    if (isOwnTraffic(exchange, answer)) return
    const { clock, log } = this.#options
    const now = clock.now()
    const key = keyOf(exchange)
    if (!isOutsideOfCounts(exchange, answer)) {
      this.#series.count(now, key, answer?.status ?? null, ms)
      if (!OF_OPERATORS.test(exchange.route)) this.#recent.note(now)
      if (isError(answer)) this.#errors.count(now, errorKeyOf(exchange, answer, key), exchange.id)
      const cause = causeOf(exchange, this.#options)
      if (cause !== null) this.#lastCause = { cause, atMs: now }
    }
    try {
      this.#record(exchange, answer, ms, now)
    } catch (error) {
      log.error({ err: error, request_id: exchange.id }, 'a request could not be recorded')
    }
  }

  /** Counts attempts of deliveries of this node. */
  countAttempts(attempts: readonly AttemptCounts[]): void {
    this.#deliveries.count(this.#options.clock.now(), attempts)
  }

  /** Returns why the database failed the last request of a caller that it failed. */
  lastCause(): ErrorCause | undefined {
    return this.#lastCause
  }

  /** Returns the requests of callers to this node in the last minutes. */
  recentRequests(): ReturnType<RecentRequests['read']> {
    return this.#recent.read(this.#options.clock.now())
  }

  figures(): RecorderFigures {
    return { ...this.#figures }
  }

  /** Returns about the bytes of the records that this process has stored. */
  storedBytes(): number {
    return this.#storedBytes
  }

  /**
   * Stores the waiting records; `counts` false: the counts only if they are due. Rejects if the
   * store does; records and counts are then retained. Callers share the flush that follows one in
   * progress, which may lack their own records.
   */
  flush({ counts = true }: { readonly counts?: boolean } = {}): Promise<void> {
    this.#countsRequested ||= counts
    return this.#flushShared()
  }

  async #store(): Promise<void> {
    const { clock, store } = this.#options
    const isDue = this.#countsRequested || clock.elapsedMs() - this.#countsStoredAtMs >= COUNTS_MS
    this.#countsRequested = false
    const queues = Object.values(this.#waiting)
    const waiting = queues.reduce((sum, { length }) => sum + length, 0)
    if (!isDue && waiting < WAKING_RECORDS && !store.isAwake()) return
    for (const queue of queues) while (queue.length > 0) await this.#storeBatch(queue)
    if (isDue) await this.#storeCounts()
  }

  #record(exchange: Exchange, answer: Answer | undefined, ms: number, now: number): void {
    const { mode, clock, nextPosition } = this.#options
    const kind = isOfStranger(exchange, answer) ? 'stranger' : isError(answer) ? 'error' : 'success'
    if (mode === 'off' || (mode === 'errors' && kind === 'success')) return
    const queue = this.#waiting[kind]
    const isSampled = this.#takesSample(clock.elapsedMs(), kind)
    if (!isSampled || queue.length >= WAITING_MAX) {
      this.#omit(now, isSampled ? 'dropped' : 'sampled')
      return
    }
    const at = { ms, position: nextPosition(now) }
    queue.push(describeRequest(exchange, answer, at, this.#options))
  }

  #omit(now: number, kind: 'sampled' | 'dropped', count = 1): void {
    this.#figures[kind] += count
    this.#series.countOmitted(now, kind, count)
  }

  async #storeBatch(queue: RequestRecord[]): Promise<void> {
    const { store, clock, log, node } = this.#options
    const batch = queue.slice(0, BATCH_MAX)
    try {
      await store.write([...insertRequests(batch), ...addVolume(node, batch)])
      this.#figures.stored += batch.length
      this.#storedBytes += batch.reduce((sum, record) => sum + bytesOfRecord(record), 0)
      this.#failedWrites = 0
    } catch (error) {
      // While the store is away, records wait in memory, and further ones are dropped.
      if (storesNothing(error) || ++this.#failedWrites < FAILED_WRITES_MAX) throw error
      log.warn({ err: error, count: batch.length }, 'records of requests were dropped')
      this.#omit(clock.now(), 'dropped', batch.length)
    }
    queue.splice(0, batch.length)
  }

  async #storeCounts(): Promise<void> {
    const { store, clock, node } = this.#options
    this.#countsStoredAtMs = clock.elapsedMs()
    const series = this.#series.take()
    const errors = this.#errors.take()
    const deliveries = this.#deliveries.take()
    const statements = [
      ...addSeriesCounts(node, series),
      ...addErrorCounts(node, errors),
      ...addDeliveryCounts(node, deliveries),
    ]
    if (statements.length === 0) return
    try {
      await store.write(statements)
    } catch (error) {
      this.#series.restore(series)
      this.#errors.restore(errors)
      this.#deliveries.restore(deliveries)
      throw error
    }
  }
}
