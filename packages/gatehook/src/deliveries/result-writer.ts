/**
 * The results that are not on disk yet: outcomes of attempts, health of endpoints, registrations to
 * disable. Writes them in batches and retains them until a write succeeds.
 */
import type { EndpointState } from './endpoint.ts'
import type { DeliveryResult, DisabledReason, EngineStore, HealthUpdate } from './ports.ts'

/** Results in one transaction. */
const BATCH_MAX = 512

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
  readonly #changedHealth = new Set<EndpointState>()
  #results: PendingResult[] = []
  #disablings: Disabling[] = []
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(store: Pick<EngineStore, 'writeResults' | 'disableRegistration'>) {
    this.#store = store
  }

  /** Results that are not written. */
  get size(): number {
    return this.#results.length
  }

  get isEmpty(): boolean {
    return this.#results.length + this.#changedHealth.size + this.#disablings.length === 0
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

  /** Discards the health of an endpoint that changed its receiver. */
  discardHealth(endpoint: EndpointState): void {
    this.#changedHealth.delete(endpoint)
  }

  addDisabling(disabling: Disabling): void {
    this.#disablings.push(disabling)
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
          listener.onDisabled(next)
        }
      })
    this.#lastWrite = write
    return write
  }

  /** Writes one transaction; returns the endpoint of each result in it. */
  async #writeBatch(): Promise<EndpointState[]> {
    const batch = this.#results.slice(0, BATCH_MAX)
    const endpoints = [...this.#changedHealth]
    if (batch.length + endpoints.length === 0) return []
    const updates = endpoints.map(healthUpdateOf)
    await this.#store.writeResults(
      batch.map(({ result }) => result),
      updates,
    )
    this.#results = this.#results.slice(batch.length)
    for (const { endpoint, result } of batch) {
      endpoint.loadedNos.delete(result.no)
      endpoint.unwrittenResults -= 1
      if (result.nextAt !== null) endpoint.expectDueAt(result.nextAt)
    }
    endpoints.forEach((endpoint, index) => {
      if (isSame(healthUpdateOf(endpoint), updates[index]!)) this.#changedHealth.delete(endpoint)
    })
    return batch.map(({ endpoint }) => endpoint)
  }
}

const healthUpdateOf = ({ no, registration, health, holdUntil }: EndpointState): HealthUpdate => ({
  no,
  url: registration?.url ?? '',
  firstFailureAt: health.firstFailureAt,
  lastFailureAt: health.lastFailureAt,
  lastSuccessAt: health.lastSuccessAt,
  holdUntil: holdUntil || null,
})

const isSame = (a: HealthUpdate, b: HealthUpdate): boolean =>
  a.firstFailureAt === b.firstFailureAt &&
  a.lastFailureAt === b.lastFailureAt &&
  a.lastSuccessAt === b.lastSuccessAt &&
  a.holdUntil === b.holdUntil
