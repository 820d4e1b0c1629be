/**
 * Reads what streams have of the tables, while streams are open: the requests of all nodes, the
 * deliveries of others, attention, first steps.
 */
import { isoTime } from '../../kernel/time.ts'
import { sql } from '../../platform/storage/sql.ts'
import { readFirstSteps } from './first-steps.ts'
import type { LiveHub } from './live-hub.ts'
import type { AttentionItem } from './operations.ts'
import { positionAt } from './position.ts'
import { type ListedRequest, readRequestsAfter } from './request-list.ts'
import { SHORTEST_STEP_S } from './steps.ts'
import type { MonitoringStore } from './store.ts'

export const POLL_MS = 1000
/** A node stores its requests within this time; later ones are not in streams. */
const LATE_MS = 5000
const STATE_EVERY_MS = 15_000
const REQUESTS_MAX = 500
const ENDPOINTS_MAX = 500

export interface LivePollerOptions {
  readonly hub: LiveHub
  readonly store: MonitoringStore
  readonly node: string
  readonly now: () => number
  readonly elapsedMs: () => number
  readonly readAttention: () => Promise<AttentionItem[]>
  readonly publishRequest: (record: ListedRequest) => void
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
}

export class LivePoller {
  readonly #options: LivePollerOptions
  /** Requests before this position precede all open streams. */
  #from: number
  /** Positions of the last seconds that streams have. */
  #seen = new Set<number>()
  /** Counts of the last steps; undefined: no stream has the topic. */
  #attempts: Map<string, EndpointCounts> | undefined
  #stateAtMs = Number.NEGATIVE_INFINITY
  #areStepsDone = false
  #states = new Map<string, string>()

  constructor(options: LivePollerOptions) {
    this.#options = options
    this.#from = positionAt(options.now())
  }

  async poll(): Promise<void> {
    const { hub, elapsedMs, readAttention } = this.#options
    await this.#pollRequests()
    await this.#pollDeliveries()
    if (hub.has('first_steps') && !this.#areStepsDone) await this.#pollSteps()
    if (!hub.has('attention') || elapsedMs() - this.#stateAtMs < STATE_EVERY_MS) return
    this.#stateAtMs = elapsedMs()
    this.#publishState('attention', await readAttention())
  }

  /** A person waits for the first steps: they are read each time, until they are done. */
  async #pollSteps(): Promise<void> {
    const { store, flush } = this.#options
    await flush()
    const steps = await readFirstSteps(store)
    this.#areStepsDone = steps.first_call && steps.first_webhook
    this.#publishState('first_steps', steps)
  }

  #publishState(topic: 'attention' | 'first_steps', data: unknown): void {
    const text = JSON.stringify(data)
    if (this.#states.get(topic) === text) return
    this.#states.set(topic, text)
    this.#options.hub.publish({ topic, data })
  }

  async #pollRequests(): Promise<void> {
    const { hub, store, now, publishRequest } = this.#options
    if (!hub.has('requests')) {
      this.#from = positionAt(now())
      this.#seen.clear()
      return
    }
    const since = Math.max(this.#from, positionAt(now() - LATE_MS))
    const rows = await readRequestsAfter(store, since - 1, REQUESTS_MAX)
    for (const row of rows) if (!this.#seen.has(row.position)) publishRequest(row)
    this.#seen = new Set(rows.map(({ position }) => position))
  }

  /** Publishes the attempts of other nodes as counts; they report each attempt only there. */
  async #pollDeliveries(): Promise<void> {
    const { hub, store, node, now } = this.#options
    const before = this.#attempts
    this.#attempts = undefined
    if (!hub.has('deliveries')) return
    const fromS = Math.floor(now() / 1000) - 2 * SHORTEST_STEP_S
    const rows = await store.all<EndpointCounts & Record<string, unknown>>(
      sql`SELECT at, node, customer, mode, webhook, delivered, failed
        FROM gh_monitoring_deliveries
        WHERE step = ${SHORTEST_STEP_S} AND at >= ${fromS} AND node <> ${node}
        ORDER BY at DESC LIMIT ${ENDPOINTS_MAX}`,
    )
    const attempts = new Map(rows.map((row) => [keyOf(row), row as EndpointCounts]))
    this.#attempts = attempts
    if (!before) return
    for (const [key, counts] of attempts) {
      const { customer, mode, webhook } = counts
      const delivered = counts.delivered - (before.get(key)?.delivered ?? 0)
      const failed = counts.failed - (before.get(key)?.failed ?? 0)
      if (delivered === 0 && failed === 0) continue
      const at = isoTime(now())
      const data = { customer, mode, webhook, delivered, failed, at, attempts: [] }
      hub.publish({ topic: 'deliveries', data })
    }
  }
}

/** A row of `gh_monitoring_deliveries`. */
interface EndpointCounts {
  readonly at: number
  readonly node: string
  readonly customer: string
  readonly mode: string
  readonly webhook: string
  readonly delivered: number
  readonly failed: number
}

const keyOf = ({ at, node, customer, mode, webhook }: EndpointCounts): string =>
  `${at} ${node} ${customer} ${mode} ${webhook}`
