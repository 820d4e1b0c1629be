/**
 * The results that are not on disk yet: outcomes of attempts, health of endpoints, registrations to
 * disable. Writes them in batches and retains them until a write succeeds.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { EndpointState } from './endpoint.ts'
import type {
  DeliveryResult,
  DisabledReason,
  EngineStore,
  HealthUpdate,
  SummaryUpdate,
} from './ports.ts'

/** Results in one transaction. */
const BATCH_MAX = 512
/** Summaries in one transaction, and the time between two of the same endpoint. */
const SUMMARIES_MAX = 512
const SUMMARY_INTERVAL_MS = 1_000

interface PendingResult {
  readonly endpoint: EndpointState
  readonly result: DeliveryResult
}

interface Disabling {
  readonly endpoint: EndpointState
  /** The receiver that caused it. */
  readonly url: string
  readonly reason: DisabledReason
}

interface WriteListener {
  /** A result of this endpoint was committed. */
  onWritten(endpoint: EndpointState): void
  onDisabled(disabling: Disabling): void
}

export class ResultWriter {
  readonly #store: Pick<EngineStore, 'writeResults' | 'disableRegistration'>
  readonly #clock: Clock
  readonly #changedHealth = new Set<EndpointState>()
  readonly #changedSummaries = new Set<EndpointState>()
  #summariesAtMs = Number.NEGATIVE_INFINITY
  #results: PendingResult[] = []
  #disablings: Disabling[] = []
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(store: Pick<EngineStore, 'writeResults' | 'disableRegistration'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Results that are not written. */
  get size(): number {
    return this.#results.length
  }

  get isEmpty(): boolean {
    return this.#results.length + this.#changedHealth.size + this.#disablings.length === 0
  }

  /** Whether summaries of endpoints are due to be written. */
  get hasDueSummaries(): boolean {
    const isDue = this.#clock.elapsedMs() - this.#summariesAtMs >= SUMMARY_INTERVAL_MS
    return isDue && this.#changedSummaries.size > 0
  }

  /** Makes all summaries due, because the engine stops, or customers move to another node. */
  expediteSummaries(): void {
    this.#summariesAtMs = Number.NEGATIVE_INFINITY
  }

  /** Schedules the summary of an endpoint to be stored. */
  addSummary(endpoint: EndpointState): void {
    this.#changedSummaries.add(endpoint)
  }

  hasSummary(endpoint: EndpointState): boolean {
    return this.#changedSummaries.has(endpoint)
  }

  addResult(endpoint: EndpointState, result: DeliveryResult): void {
    this.#results.push({ endpoint, result })
    endpoint.unwrittenResults += 1
  }

  /** Schedules the health and the hold of an endpoint to be stored. */
  addHealth(endpoint: EndpointState): void {
    this.#changedHealth.add(endpoint)
  }

  hasHealth(endpoint: EndpointState): boolean {
    return this.#changedHealth.has(endpoint)
  }

  discardHealth(endpoint: EndpointState): void {
    this.#changedHealth.delete(endpoint)
  }

  addDisabling(disabling: Disabling): void {
    this.#disablings.push(disabling)
    disabling.endpoint.isGone = true
  }

  /** Whether something of an endpoint is not written. */
  hasUnwritten(endpoint: EndpointState): boolean {
    return (
      endpoint.unwrittenResults > 0 ||
      this.hasHealth(endpoint) ||
      this.hasSummary(endpoint) ||
      this.#disablings.some((disabling) => disabling.endpoint === endpoint)
    )
  }

  /**
   * Writes the results that exist now. Later ones wait for the next call, so that one commit has
   * many. Calls run one after the other. Throws when a write fails, and retains the rest.
   */
  write(listener: WriteListener): Promise<void> {
    const write = this.#lastWrite
      .catch(() => undefined)
      .then(async () => {
        let left = this.#results.length
        do {
          const endpoints = await this.#writeBatch()
          left -= endpoints.length
          for (const endpoint of new Set(endpoints)) listener.onWritten(endpoint)
        } while (left > 0)
        for (let next = this.#disablings[0]; next; next = this.#disablings[0]) {
          await this.#store.disableRegistration(next.endpoint.no, next.reason, next.url)
          this.#disablings.shift()
          next.endpoint.isGone = this.#disablings.some(({ endpoint }) => endpoint === next.endpoint)
          listener.onDisabled(next)
        }
      })
    this.#lastWrite = write
    return write
  }

  /** Removes the summaries of one transaction; the rest of them stays due. */
  #takeSummaries(): EndpointState[] {
    if (!this.hasDueSummaries) return []
    const endpoints = [...this.#changedSummaries].slice(0, SUMMARIES_MAX)
    for (const endpoint of endpoints) this.#changedSummaries.delete(endpoint)
    if (this.#changedSummaries.size === 0) this.#summariesAtMs = this.#clock.elapsedMs()
    return endpoints
  }

  /** Writes one transaction; returns the endpoint of each result in it. */
  async #writeBatch(): Promise<EndpointState[]> {
    const batch = this.#results.slice(0, BATCH_MAX)
    const endpoints = [...this.#changedHealth]
    const summarized = this.#takeSummaries()
    if (batch.length + endpoints.length + summarized.length === 0) return []
    const updates = endpoints.map(healthUpdateOf)
    const summaries = summarized.map((endpoint) => summaryUpdateOf(endpoint, this.#clock.now()))
    try {
      await this.#store.writeResults(
        batch.map(({ result }) => result),
        updates,
        summaries,
      )
    } catch (error) {
      for (const endpoint of summarized) this.#changedSummaries.add(endpoint)
      throw error
    }
    summarized.forEach((endpoint, index) => {
      endpoint.storedHealth = summaries[index]!.health ?? endpoint.storedHealth
    })
    this.#results = this.#results.slice(batch.length)
    for (const { endpoint, result } of batch) {
      endpoint.loadedIds.delete(result.id)
      endpoint.unwrittenResults -= 1
      if (result.nextAt !== null) endpoint.expectDueAt(result.nextAt)
    }
    endpoints.forEach((endpoint, index) => {
      if (isSame(healthUpdateOf(endpoint), updates[index]!)) this.#changedHealth.delete(endpoint)
    })
    return batch.map(({ endpoint }) => endpoint)
  }
}

const healthUpdateOf = ({
  no,
  scope,
  registration,
  health,
  holdUntil,
}: EndpointState): HealthUpdate => ({
  no,
  scope,
  url: registration?.url ?? '',
  firstFailureAt: health.firstFailureAt,
  lastFailureAt: health.lastFailureAt,
  lastSuccessAt: health.lastSuccessAt,
  holdUntil: holdUntil || null,
})

function summaryUpdateOf(endpoint: EndpointState, now: number): SummaryUpdate {
  const { no, scope, breaker, inFlight, newestId, storedHealth } = endpoint
  const summary = endpoint.summary!
  return {
    no,
    scope,
    ...summary.stored,
    health: summary.state === storedHealth ? undefined : summary.state,
    breaker: breaker.state,
    breakerUntil: breaker.probeAt(now) ?? null,
    inFlight,
    newestId,
    updatedAt: now,
  }
}

const isSame = (a: HealthUpdate, b: HealthUpdate): boolean =>
  a.firstFailureAt === b.firstFailureAt &&
  a.lastFailureAt === b.lastFailureAt &&
  a.lastSuccessAt === b.lastSuccessAt &&
  a.holdUntil === b.holdUntil
