/**
 * Fills the windows of endpoints: decides which endpoints to read and how many rows of each, and
 * applies the registration that the store returns. Sends nothing.
 */
import { BoundedMap } from '../../kernel/bounded-map.ts'
import { type Clock, earliestNow } from '../../kernel/clock.ts'
import { customerNoOf, type Scope } from '../../kernel/principal.ts'
import type { DeliveryRate } from './delivery-rate.ts'
import { DueScan } from './due-scan.ts'
import type { EndpointState, EndpointTable } from './endpoint.ts'
import { CircuitBreaker } from './endpoint-health.ts'
import { OutcomeSummary } from './outcome-summary.ts'
import type { DueSpan, EngineRegistration, EngineStore, Leases, PendingEndpoint } from './ports.ts'
import type { ResultWriter } from './result-writer.ts'
import type { CommittedDelivery } from './wake-up.ts'

/** Rows in the window of one endpoint, and in all windows together. */
const WINDOW_MAX = 512
const WINDOW_MIN = 4
const WINDOWS_MAX = 16_384
/** Characters of bodies in all windows. */
const WINDOWS_CHARACTERS = 8_388_608
/** Endpoints read at a time. */
const READ_MAX = 32
/** Endpoints whose scope is remembered. */
const KNOWN_ENDPOINTS = 100_000
/** Time between two checks for failing registrations, by either clock. */
const FAILING_CHECK_MS = 15_000
/** Time between two evictions of idle state, monotonic. */
const EVICT_MS = 1_000

interface WindowFillerDeps {
  readonly store: EngineStore
  readonly leases: Leases
  readonly clock: Clock
  /** The rate of customers without their own; undefined: unlimited (§9.8). */
  readonly rate: DeliveryRate | undefined
  readonly table: EndpointTable
  readonly results: ResultWriter
  /** Longest time between two looks for due work; default: one second. */
  readonly idleScanMs?: number | undefined
}

export class WindowFiller {
  readonly #deps: WindowFillerDeps
  readonly #queue = new Set<EndpointState>()
  readonly #scan: DueScan
  /** The scopes of endpoints that a wake-up named, by the number of the endpoint. */
  readonly #scopes = new BoundedMap<number, Scope>(KNOWN_ENDPOINTS)
  /** The endpoint after which the next check for backlogs continues. */
  #backlogsAfter = 0
  #checked = { at: Number.NEGATIVE_INFINITY, atMs: Number.NEGATIVE_INFINITY }
  #evictedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: WindowFillerDeps) {
    const { store, leases, clock, idleScanMs } = deps
    this.#deps = deps
    this.#scan = new DueScan({ store, leases, clock, idleMs: idleScanMs })
  }

  /** Whether there is an endpoint to read, or a look for due work is due. */
  get hasWork(): boolean {
    return this.#queue.size > 0 || this.#scan.isDue
  }

  /** Queues an endpoint to be read if rows outside of memory may be due. */
  consider(endpoint: EndpointState, now: number): void {
    if (endpoint.isFilling || !this.#isHeld(endpoint)) return
    const { windowSize, nextDueAt, hasChanged, hasResends } = endpoint
    const isFresh = endpoint.hasFreshRegistration(this.#deps.clock.elapsedMs())
    const isBlocked = hasResends ? endpoint.isOnHold(now) : endpoint.blockedUntil(now) > 0
    // A blocked endpoint is read only to learn whether a verified receiver unblocks it (§9.7).
    if (isBlocked && (isFresh || !hasChanged)) return
    const isLow = windowSize <= this.#windowLimitOf(endpoint) / 4
    const needsRows = nextDueAt !== undefined && nextDueAt <= now && isLow
    const isStale = windowSize > 0 && (hasChanged || !isFresh)
    if (needsRows || isStale || endpoint.resendsToRead.size > 0) this.#queue.add(endpoint)
  }

  /**
   * Takes deliveries that this node has committed into the window, without a read. Returns false if
   * the rows have to be read: others may be due before them, the registration has changed, or a
   * read may have seen them. The engine may have sent and evicted those already.
   */
  take(endpoint: EndpointState, committed: readonly CommittedDelivery[], now: number): boolean {
    const { registration, nextDueAt = Number.POSITIVE_INFINITY, lookedAt } = endpoint
    const canTake =
      registration?.sends === true &&
      this.#isHeld(endpoint) &&
      !endpoint.isFilling &&
      !endpoint.hasChanged &&
      !endpoint.hasBacklog &&
      nextDueAt > now &&
      endpoint.blockedUntil(now) === 0 &&
      endpoint.windowSize + committed.length <= this.#windowLimitOf(endpoint) &&
      committed.every(
        ({ revision, dueAt }) =>
          revision === registration.revision && dueAt > lookedAt && dueAt <= now,
      )
    if (canTake) endpoint.appendRows(committed.map(({ due }) => due))
    return canTake
  }

  /** Removes an endpoint from the queue, because another node serves it. */
  withdraw(endpoint: EndpointState): void {
    this.#queue.delete(endpoint)
  }

  /**
   * Reads queued endpoints and returns them. Throws when a read fails, after the other reads have
   * completed; the endpoint of a failed read expects the same rows as before.
   */
  async fill(): Promise<readonly EndpointState[]> {
    if (this.#scan.isDue) await this.#findWork()
    const batch: EndpointState[] = []
    for (const endpoint of this.#queue) {
      if (batch.push(endpoint) === READ_MAX) break
    }
    for (const endpoint of batch) {
      this.#queue.delete(endpoint)
      endpoint.isFilling = true
    }
    const fills = await Promise.allSettled(batch.map((endpoint) => this.#fillWindow(endpoint)))
    for (const endpoint of batch) endpoint.isFilling = false
    const failure = fills.find((fill) => fill.status === 'rejected')
    if (failure) throw failure.reason
    return batch
  }

  /** Returns the endpoint of a wake-up; undefined if it does not send or another node holds it. */
  async findAwakened(no: number): Promise<EndpointState | undefined> {
    const { store, leases, table } = this.#deps
    const endpoint = table.find(no)
    if (endpoint) return endpoint
    const knownScope = this.#scopes.get(no)
    if (knownScope !== undefined && leases.holds(customerNoOf(knownScope))) {
      return table.findOrCreate({ no, scope: knownScope })
    }
    const registration = await store.readRegistration(no)
    if (!registration?.sends) return undefined
    const { customer, scope } = registration
    this.#scopes.set(no, scope)
    if (!leases.holds(customer)) await leases.take([customer])
    return leases.holds(customer) ? table.findOrCreate({ no, scope }) : undefined
  }

  async #fillWindow(endpoint: EndpointState): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const { loadedIds, nextDueAt: expectedAt } = endpoint
    const span = { from: endpoint.readFrom, now }
    endpoint.lookedAt = Math.max(endpoint.lookedAt, now)
    let readUntil = span.from
    endpoint.nextDueAt = undefined
    endpoint.readFrom = Number.POSITIVE_INFINITY
    endpoint.hasChanged = false
    try {
      const reading = await this.#readEndpoint(endpoint, span)
      if (!this.#applyRegistration(endpoint, reading.registration, now)) {
        return endpoint.resendsToRead.clear()
      }
      const isBlocked = endpoint.blockedUntil(now) > 0
      // The look for due work does not return to rows that it has passed.
      if (isBlocked) endpoint.expectDueAt(expectedAt ?? now)
      if (isBlocked && !endpoint.hasResends) return
      endpoint.summary ??= reading.summary
      await this.#readResends(endpoint, now)
      if (isBlocked) return
      const limit = this.#windowLimitOf(endpoint) - endpoint.windowSize
      if (!reading.due && limit <= 0) {
        return expectedAt === undefined ? undefined : endpoint.expectDueAt(expectedAt)
      }
      const from = Math.min(span.from, endpoint.readFrom)
      const due =
        reading.due ?? (await store.readDueDeliveries(endpoint, { from, now }, loadedIds, limit))
      endpoint.appendRows(due.rows.filter((row) => !loadedIds.has(row.id)))
      if (due.nextDueAt !== undefined) endpoint.expectDueAt(due.nextDueAt)
      readUntil = Math.min(due.nextDueAt ?? now, now)
      if (due.rows.length < limit) await this.#fillBacklog(endpoint)
    } catch (error) {
      endpoint.expectDueAt(expectedAt ?? now)
      throw error
    } finally {
      endpoint.readFrom = Math.min(endpoint.readFrom, readUntil)
    }
  }

  /**
   * Reads the registration and, in the same round trip, what the endpoint needs if the registration
   * is as before. `due` is undefined if the rows have to be read after it.
   */
  async #readEndpoint(endpoint: EndpointState, span: DueSpan) {
    const { store } = this.#deps
    const { no, loadedIds, windowSize } = endpoint
    const before = endpoint.registration
    const limit = this.#windowLimitOf(endpoint) - windowSize
    const isRead = limit > 0 && endpoint.blockedUntil(span.now) === 0
    const [registration, summary, due] = await Promise.all([
      store.readRegistration(no, endpoint.scope),
      endpoint.summary ??
        store
          .readSummary({ no, scope: endpoint.scope })
          .then((stored) => new OutcomeSummary(stored)),
      isRead ? store.readDueDeliveries(endpoint, span, loadedIds, limit) : undefined,
    ])
    // The change of a registration evicts its window, whose rows were not read.
    const isEvicted = windowSize > 0 && registration?.revision !== before?.revision
    return { registration, summary, due: isEvicted ? undefined : due }
  }

  /** Gives deliveries that wait in their events rows, which the next read of the window finds. */
  async #fillBacklog(endpoint: EndpointState): Promise<void> {
    const { store } = this.#deps
    const hasBacklog = endpoint.registration?.hasBacklog === true
    if (!hasBacklog && !endpoint.hasBacklog) return
    endpoint.hasBacklog = true
    const { count, dueAt, isLast } = await store.fillBacklog(endpoint)
    if (count > 0) endpoint.expectDueAt(dueAt)
    if (!isLast) return
    // A commit that saw the backlog may end later: the next look finds its delivery.
    endpoint.hasBacklog = false
    if (hasBacklog) await store.endBacklog(endpoint)
  }

  /** Reads the deliveries that callers resend. Those that are no longer due are ignored. */
  async #readResends(endpoint: EndpointState, now: number): Promise<void> {
    const ids = [...endpoint.resendsToRead]
    if (ids.length === 0) return
    const { store } = this.#deps
    endpoint.prependResends(await store.readResentDeliveries(endpoint.scope, now, ids))
    for (const id of ids) endpoint.resendsToRead.delete(id)
  }

  /** Applies the current registration; returns whether it sends, on this node. */
  #applyRegistration(
    endpoint: EndpointState,
    registration: EngineRegistration | undefined,
    now: number,
  ): boolean {
    const { clock, results, rate } = this.#deps
    const before = endpoint.registration
    endpoint.registration = registration
    if (!registration?.sends || !this.#isHeld(endpoint)) {
      endpoint.clearWindow(now)
      endpoint.nextDueAt = undefined // a wake-up, or a walk, finds it once it may send
      endpoint.readFrom = 0
      // Another node may continue it.
      if (!results.hasSummary(endpoint)) endpoint.summary = undefined
      return false
    }
    if (registration.revision !== before?.revision) {
      endpoint.clearWindow(now)
      endpoint.storedHealth = undefined
      // The server verified the receiver when the URL changed or the registration became active.
      const hasMoved = before !== undefined && before.url !== registration.url
      if (hasMoved) results.discardHealth(endpoint)
      let isVerified = hasMoved || before?.sends === false
      if (!results.hasHealth(endpoint)) {
        isVerified ||=
          endpoint.health.firstFailureAt !== null && registration.firstFailureAt === null
        endpoint.health = registration
        endpoint.holdUntil = registration.holdUntil ?? 0
      }
      if (isVerified) endpoint.breaker = new CircuitBreaker()
    }
    if (!endpoint.isOnHold(now)) endpoint.holdUntil = 0
    endpoint.readAtMs = clock.elapsedMs()
    endpoint.owner.setRate(registration.rate ?? rate, clock.elapsedMs())
    return true
  }

  #isHeld({ customer }: EndpointState): boolean {
    return this.#deps.leases.holds(customer)
  }

  #windowLimitOf(endpoint: EndpointState): number {
    const endpoints = Math.max(1, this.#deps.table.size)
    const byCharacters = WINDOWS_CHARACTERS / endpoints / endpoint.bodyCharacters
    const rows = Math.min(WINDOW_MAX, WINDOWS_MAX / endpoints, byCharacters)
    return Math.max(WINDOW_MIN, Math.floor(rows))
  }

  /** Finds due work, takes free customers that have some, disables failing registrations. */
  async #findWork(): Promise<void> {
    const { leases, clock, table } = this.#deps
    await this.#checkEndpoints()
    const now = clock.now()
    const dueEndpoints = await this.#readDueEndpoints(now).catch((error) => {
      this.#scan.restart()
      throw error
    })
    for (const { no, scope, dueAt, hasBacklog } of dueEndpoints) {
      if (!leases.holds(customerNoOf(scope))) continue
      const endpoint = table.findOrCreate({ no, scope })
      endpoint.hasBacklog ||= hasBacklog === true
      endpoint.expectDueAt(dueAt)
      this.consider(endpoint, now)
    }
    this.#evictIdle(now)
  }

  async #readDueEndpoints(now: number): Promise<PendingEndpoint[]> {
    const { leases } = this.#deps
    const dueEndpoints = (await this.#scan.read()).filter(({ dueAt }) => dueAt <= now)
    const customers = dueEndpoints.map(({ scope }) => customerNoOf(scope))
    const free = customers.filter((customer) => !leases.holds(customer))
    if (free.length > 0) await leases.take([...new Set(free)])
    return dueEndpoints
  }

  /** Disables failing registrations; the deliveries of those that are behind wait in events. */
  async #checkEndpoints(): Promise<void> {
    const { store, clock } = this.#deps
    const at = clock.now()
    const atMs = clock.elapsedMs()
    const isDue =
      Math.abs(at - this.#checked.at) >= FAILING_CHECK_MS ||
      atMs - this.#checked.atMs >= FAILING_CHECK_MS
    if (!isDue) return
    for (const no of await store.listFailing(earliestNow(clock)))
      await store.disableRegistration(no, 'failing')
    this.#backlogsAfter = await store.beginBacklogs(at, this.#backlogsAfter)
    this.#checked = { at, atMs }
  }

  #evictIdle(now: number): void {
    const { clock, table, results } = this.#deps
    const elapsedMs = clock.elapsedMs()
    if (elapsedMs - this.#evictedAtMs < EVICT_MS) return
    this.#evictedAtMs = elapsedMs
    const isInUse = (endpoint: EndpointState) =>
      endpoint.isFilling ||
      this.#queue.has(endpoint) ||
      results.hasHealth(endpoint) ||
      results.hasSummary(endpoint)
    table.evictIdle(now, elapsedMs, isInUse)
  }
}
