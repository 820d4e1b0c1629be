/**
 * The delivery engine (§9.6–9.8, §9.12): holds a small window of each endpoint's due rows in
 * memory, the rest on disk; delivers by fair turns; writes results in batches. It has no thread,
 * socket, SQL or time of its own: `loop.ts` runs it, tests run it with `tick`.
 *
 * The process may lose its memory at any moment: a row is pending on disk until its result is
 * written.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { AttemptFeed, type AttemptReport } from './attempt-feed.ts'
import { Deliverer } from './deliver.ts'
import type { DeliveryRate } from './delivery-rate.ts'
import { type EndpointState, EndpointTable } from './endpoint.ts'
import type { DeliveryFigures } from './metrics.ts'
import type { EngineStore, Leases, NodeWork, PostDelivery } from './ports.ts'
import { queueAgesOf } from './queue-age.ts'
import { ResultWriter } from './result-writer.ts'
import type { OnDeliveryEnd } from './traced-post.ts'
import type { CommittedDelivery, ResendRequest } from './wake-up.ts'
import { WindowFiller } from './window-filler.ts'

export interface EngineDeps {
  readonly store: EngineStore
  readonly leases: Leases
  readonly post: PostDelivery
  readonly clock: Clock
  /** Returns a random number from 0 up to 1. */
  readonly chance: () => number
  readonly log: Log
  readonly scheduleS: readonly number[]
  /** The rate of customers without their own; undefined: unlimited (§9.8). */
  readonly rate: DeliveryRate | undefined
  /** Longest time between two looks for due work; default: one second. */
  readonly idleScanMs?: number | undefined
  /** Called when there is a result to write or a window to fill. */
  readonly nudge?: () => void
  /** Called when a delivery has its final state; absent unless traces are exported. */
  readonly onEnd?: OnDeliveryEnd | undefined
}

export class DeliveryEngine implements NodeWork {
  readonly #deps: EngineDeps
  readonly #table = new EndpointTable()
  readonly #results: ResultWriter
  readonly #feed = new AttemptFeed()
  readonly #windows: WindowFiller
  readonly #deliverer: Deliverer
  /** Rows in windows, as of the last sweep. */
  #windowRows = 0
  #isDraining = false
  #onQuiet: (() => void) | undefined

  constructor(deps: EngineDeps) {
    this.#deps = deps
    this.#results = new ResultWriter(deps.store, deps.clock)
    const { store, leases, clock, rate, post, chance, log, scheduleS, idleScanMs } = deps
    const results = this.#results
    const table = this.#table
    this.#windows = new WindowFiller({ store, leases, clock, rate, table, results, idleScanMs })
    this.#deliverer = new Deliverer({
      store,
      post,
      clock,
      chance,
      log,
      scheduleS,
      results,
      feed: this.#feed,
      holds: ({ customer }) => leases.holds(customer),
      onResult: () => deps.nudge?.(),
      onEnd: deps.onEnd,
      onQuiet: () => this.#onQuiet?.(),
    })
  }

  /** Whether there are results or summaries to write, or registrations to disable. */
  get hasResults(): boolean {
    return !this.#results.isEmpty || this.#results.hasDueSummaries
  }

  /** Results that are not written. */
  get unwritten(): number {
    return this.#results.size
  }

  /** Whether an attempt ended, or its result was written, since `reuseSlots` last ran. */
  get hasFreedSlots(): boolean {
    return this.#deliverer.freedEndpoints.size > 0
  }

  /** Whether there are windows to fill, or a look for due work is due. */
  get hasWindowsToFill(): boolean {
    return !this.#isDraining && this.#windows.hasWork
  }

  /** Whether an attempt is in flight, or a row in a window waits for time to pass. */
  get isBusy(): boolean {
    return this.#deliverer.inFlight > 0 || this.#windowRows > 0
  }

  /** Runs every step once; for tests. */
  async tick(): Promise<void> {
    await this.writeResults()
    this.sweep()
    while (this.hasWindowsToFill) {
      await this.fillWindows()
      this.startAttempts()
    }
  }

  /**
   * Notes that these registrations have new deliveries or changed, and which deliveries a caller
   * resends; takes the deliveries that this node has committed. Returns the registrations whose
   * deliveries this node does not send.
   */
  async wake(
    webhookNos: readonly number[],
    resends: readonly ResendRequest[] = [],
    committed: readonly CommittedDelivery[] = [],
  ): Promise<readonly number[]> {
    const { leases } = this.#deps
    const otherNos: number[] = []
    const nos = new Set([...webhookNos, ...resends.map(({ webhookNo }) => webhookNo)])
    for (const no of this.#takeCommitted(committed, nos)) nos.add(no)
    for (const no of nos) {
      const endpoint = await this.#windows.findAwakened(no)
      if (!endpoint || !leases.isAlive || !leases.holds(endpoint.customer)) otherNos.push(no)
      if (!endpoint) continue
      const now = this.#deps.clock.now()
      endpoint.expectDueAt(now)
      endpoint.hasChanged = true
      for (const { webhookNo, delivery } of resends) {
        if (webhookNo === no) endpoint.requestResend(delivery)
      }
      this.#windows.consider(endpoint, now)
    }
    return otherNos
  }

  /**
   * Takes deliveries into windows and starts their attempts, except those of registrations to be
   * read, which may have others before them. Returns further registrations to be read.
   */
  #takeCommitted(
    committed: readonly CommittedDelivery[],
    readNos: ReadonlySet<number>,
  ): readonly number[] {
    if (committed.length === 0) return []
    const { clock, leases } = this.#deps
    const now = clock.now()
    const elapsedMs = clock.elapsedMs()
    const unreadNos: number[] = []
    for (const [no, deliveries] of Map.groupBy(committed, ({ webhookNo }) => webhookNo)) {
      if (readNos.has(no)) continue
      const endpoint = this.#table.find(no)
      if (!endpoint || !leases.isAlive || !this.#windows.take(endpoint, deliveries, now)) {
        unreadNos.push(no)
        continue
      }
      this.#deliverer.offer(endpoint, now, elapsedMs)
      this.#windows.consider(endpoint, now)
    }
    this.startAttempts()
    return unreadNos
  }

  /** Applies the passage of time to every endpoint, then starts attempts. */
  sweep(): void {
    const { clock, leases } = this.#deps
    const now = clock.now()
    const elapsedMs = clock.elapsedMs()
    this.#deliverer.unblockAll()
    this.#windowRows = 0
    for (const endpoint of this.#table.endpoints) {
      if (!leases.holds(endpoint.customer)) {
        this.#leaveEndpoint(endpoint, now)
        continue
      }
      this.#deliverer.offer(endpoint, now, elapsedMs)
      this.#windows.consider(endpoint, now)
      this.#windowRows += endpoint.windowSize
    }
    this.startAttempts()
  }

  /** Another node continues with the rows on disk; nothing of them stays in this memory. */
  #leaveEndpoint(endpoint: EndpointState, now: number): void {
    endpoint.clearWindow(now)
    this.#deliverer.withdraw(endpoint)
    if (endpoint.isFilling || !this.#hasFinished(endpoint)) return
    this.#windows.withdraw(endpoint)
    this.#table.evict(endpoint)
  }

  #hasFinished(endpoint: EndpointState): boolean {
    return endpoint.inFlight === 0 && !this.#results.hasUnwritten(endpoint)
  }

  countUnfinished(customer: number): number {
    let count = 0
    for (const { inFlight, unwrittenResults } of this.#table.endpointsOf(customer)) {
      count += inFlight + unwrittenResults
    }
    return count
  }

  finish(customer: number): boolean {
    this.#results.expediteSummaries()
    for (const endpoint of this.#table.endpointsOf(customer)) {
      if (!this.#hasFinished(endpoint)) return false
    }
    return true
  }

  /** Starts every attempt that may start now. */
  startAttempts(): void {
    const { clock, leases } = this.#deps
    if (this.#isDraining || !leases.isAlive) return
    const now = clock.now()
    const servedEndpoints = this.#deliverer.startAttempts(now, clock.elapsedMs())
    for (const endpoint of servedEndpoints) this.#windows.consider(endpoint, now)
  }

  /** Reuses the slots of attempts that ended: once for all that end in a turn of the event loop. */
  reuseSlots(): void {
    const { freedEndpoints } = this.#deliverer
    const now = this.#deps.clock.now()
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const endpoint of freedEndpoints) {
      this.#deliverer.unblock(endpoint.customer)
      this.#deliverer.offer(endpoint, now, elapsedMs)
      this.#windows.consider(endpoint, now)
    }
    freedEndpoints.clear()
    this.startAttempts()
  }

  /** Fills windows from the store. Throws when the store does. */
  async fillWindows(): Promise<void> {
    const filledEndpoints = await this.#windows.fill()
    const now = this.#deps.clock.now()
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const endpoint of filledEndpoints) {
      this.#deliverer.offer(endpoint, now, elapsedMs)
      this.#windows.consider(endpoint, now)
    }
  }

  /** Writes the results that exist now. Throws when a write fails; the results stay in memory. */
  writeResults(): Promise<void> {
    return this.#results.write({
      onWritten: (endpoint: EndpointState) => void this.#deliverer.freedEndpoints.add(endpoint),
      onDisabled: ({ endpoint, reason }) => {
        endpoint.readAtMs = Number.NEGATIVE_INFINITY
        this.#windows.consider(endpoint, this.#deps.clock.now())
        this.#deps.log.warn({ webhook: endpoint.registration?.id, reason }, 'webhook disabled')
      },
    })
  }

  /**
   * Starts nothing more. Resolves when the result of every attempt in flight is written; an aborted
   * attempt leaves its row pending.
   */
  async drain(): Promise<void> {
    this.#isDraining = true
    while (this.#deliverer.inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#onQuiet = resolve
      })
    }
    this.#results.expediteSummaries()
    await this.writeResults()
  }

  /** Returns the attempts that ended since the last call; undefined if there are none. */
  takeAttempts(): AttemptReport | undefined {
    return this.#feed.take()
  }

  figures(): DeliveryFigures {
    const now = this.#deps.clock.now()
    const breakers = { closed: 0, open: 0, probing: 0 }
    const health = { new: 0, healthy: 0, some_fail: 0, slow: 0, failing: 0 }
    let onHold = 0
    for (const endpoint of this.#table.endpoints) {
      breakers[endpoint.breaker.state] += 1
      health[endpoint.summary?.state ?? 'new'] += 1
      if (endpoint.holdUntil > now) onHold += 1
    }
    const { attempts, latency, latencySumMs } = this.#deliverer.counter
    return {
      attempts: { ...attempts },
      latency: [...latency],
      latencySumMs,
      inFlight: this.#deliverer.inFlight,
      ...queueAgesOf(this.#table.endpoints, now, this.#deps.clock.elapsedMs()),
      breakers,
      health,
      onHold,
      unwritten: this.#results.size,
    }
  }
}
