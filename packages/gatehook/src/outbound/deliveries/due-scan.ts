/**
 * Decides where the engine looks for due work (§9.12). Once a second it reads the deliveries that
 * became due since its last look, so that without any the cost is constant. A walk over all
 * endpoints finds older ones: at the start, and when another node leaves customers. A small slice
 * of such a walk with each look finds what neither notices, for example after a lost wake-up.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { EngineStore, Leases, PendingEndpoint } from './ports.ts'

/** Time between two looks, monotonic, unless the next delivery is due earlier. */
const SCAN_MS = 1_000
/** Each look goes back by this, for transactions that commit late and clocks that differ. */
const OVERLAP_MS = 2_000
/** Endpoints of one step of the walk, and of the slice with each look. */
const WALK_ENDPOINTS = 500
const PATROL_ENDPOINTS = 100

interface DueScanDeps {
  readonly store: Pick<EngineStore, 'readDuePage' | 'readEndpointSlice' | 'readAwaitedSlice'>
  readonly leases: Pick<Leases, 'generation'>
  readonly clock: Clock
  /** Longest time between two looks while no delivery is due; default: `SCAN_MS`. */
  readonly idleMs?: number | undefined
}

export class DueScan {
  readonly #deps: DueScanDeps
  /** All deliveries that became due until then were read, or are found by the walk. */
  #readUntil = 0
  #hasMore = false
  #scannedAtMs = Number.NEGATIVE_INFINITY
  /** When the next delivery is due, as of the last look. */
  #nextDueAt: number | undefined
  #generation: number | undefined
  /** The endpoint after which the walk continues; undefined: no walk runs. */
  #walkAfter: number | undefined
  #patrolAfter = 0
  /** The same of endpoints whose deliveries wait in their events, which few have. */
  #awaitedAfter = 0

  constructor(deps: DueScanDeps) {
    this.#deps = deps
  }

  get isDue(): boolean {
    const { clock, leases } = this.#deps
    if (this.#hasMore || this.#walkAfter !== undefined) return true
    if (leases.generation !== this.#generation) return true
    const elapsedMs = clock.elapsedMs() - this.#scannedAtMs
    if (elapsedMs < SCAN_MS) return false
    const idleMs = this.#deps.idleMs ?? SCAN_MS
    return elapsedMs >= idleMs || (this.#nextDueAt ?? Number.POSITIVE_INFINITY) <= clock.now()
  }

  /** Begins a walk, because the caller lost the result of the last read. */
  restart(): void {
    this.#startWalk(this.#deps.clock.now())
  }

  /** Returns endpoints that may have due work. After a failure the caller restarts it. */
  async read(): Promise<readonly PendingEndpoint[]> {
    const { clock, leases, store } = this.#deps
    const now = clock.now()
    if (leases.generation !== this.#generation) {
      this.#generation = leases.generation
      this.#startWalk(now)
    }
    if (this.#walkAfter !== undefined) return this.#continueWalk(this.#walkAfter)
    const endpoints = await this.#readDue(now)
    if (this.#hasMore || this.#walkAfter !== undefined) return endpoints
    const [slice, awaited] = await Promise.all([
      store.readEndpointSlice(this.#patrolAfter, PATROL_ENDPOINTS),
      store.readAwaitedSlice(this.#awaitedAfter, PATROL_ENDPOINTS),
    ])
    this.#awaitedAfter = awaited.next ?? 0
    this.#patrolAfter = slice.next ?? 0
    return [...endpoints, ...slice.endpoints, ...awaited.endpoints]
  }

  async #readDue(now: number): Promise<readonly PendingEndpoint[]> {
    const { store, clock } = this.#deps
    // A clock that was set back makes instants due that were read as future ones.
    const readUntil = Math.min(this.#readUntil, now)
    const after = this.#hasMore ? readUntil : readUntil - OVERLAP_MS
    const page = await store.readDuePage(after, now)
    this.#hasMore = !page.isComplete
    if (!this.#hasMore) this.#scannedAtMs = clock.elapsedMs()
    // When one instant has too many deliveries, the walk finds them.
    if (this.#hasMore && page.readUntil <= after) this.#startWalk(now)
    else {
      this.#readUntil = page.readUntil
      this.#nextDueAt = page.nextDueAt
    }
    return page.endpoints
  }

  /** The walk finds rows that are due now, and the looks those that become due later. */
  #startWalk(now: number): void {
    this.#walkAfter = 0
    this.#readUntil = now
    this.#hasMore = false
    this.#nextDueAt = now
  }

  async #continueWalk(after: number): Promise<readonly PendingEndpoint[]> {
    const slice = await this.#deps.store.readEndpointSlice(after, WALK_ENDPOINTS)
    this.#walkAfter = slice.next
    return slice.endpoints
  }
}
