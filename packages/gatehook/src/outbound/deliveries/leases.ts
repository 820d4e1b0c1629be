/**
 * Leases: which node sends the deliveries of which customers. A node holds whole customers, so
 * rate, concurrency and breakers are exact in its memory, with any number of nodes, and claiming a
 * delivery needs no write. Each node increments a heartbeat counter; when a counter stops, other
 * nodes take over its customers. No two clocks are compared. A customer moves to another node only
 * when its attempts have ended and their results are written, so that the other node resends none.
 */
import type { Clock } from '../../kernel/clock.ts'
import { createFailureDetector } from '../../kernel/failure-detector.ts'
import type { Log } from '../../kernel/log.ts'
import {
  createLeaseStore,
  type DeliveryNode,
  type Handover,
  type LeaseStore,
} from '../../platform/nodes/lease-store.ts'
import type { Database } from '../../platform/storage/database.ts'
import { planHandovers } from './handover-plan.ts'
import type { NodeLeases, NodeWork } from './ports.ts'

/** A heartbeat may fail once before this node starts no attempt (`UNSURE_AFTER_MS`). */
export const HEARTBEAT_MS = 3_000
/** Another node's counter that has not changed for this long means that the node has failed. */
const FAILED_AFTER_MS = 10_000
/** Without a heartbeat for this long a node starts no attempt: others may have taken over. */
const UNSURE_AFTER_MS = 7_000
/**
 * A customer that should move starts no attempt. If a receiver holds one for longer than this, the
 * customer stays, and is not selected again for a while.
 */
const HANDOVER_WAIT_MS = 5_000
const HANDOVER_PAUSE_MS = 60_000
/** How long a customer counts as held by another node without a new look. */
const ELSEWHERE_MS = 60_000

interface LeasesDeps {
  readonly store: LeaseStore
  /** See `Database.isOwner`. */
  readonly isOwner: () => boolean
  readonly clock: Clock
  readonly log: Log
  /** Identifies this run of this process; never reused. */
  readonly node: string
  /** Notifies the other nodes that customers moved, or are free. */
  readonly announce: () => Promise<void>
}

interface NodeLeasesDeps extends Omit<LeasesDeps, 'store' | 'isOwner' | 'announce'> {
  readonly db: Database
  readonly announce?: LeasesDeps['announce']
}

export const nodeLeases = ({ db, announce = async () => {}, ...deps }: NodeLeasesDeps) =>
  new SharedLeases({ ...deps, store: createLeaseStore(db), isOwner: db.isOwner, announce })

interface PendingHandover extends Handover {
  readonly sinceMs: number
}

export class SharedLeases implements NodeLeases {
  generation = 0
  readonly #deps: LeasesDeps
  #heartbeatAtMs = Number.NEGATIVE_INFINITY
  #held = new Set<number>()
  /** Customers that this node gained or left since the current heartbeat began to read. */
  #changes = new Map<number, 'gained' | 'left'>()
  /** Customers that start no attempt, and move once they have none in flight. */
  readonly #leaving = new Map<number, PendingHandover>()
  #isMoving = false
  /** Customers whose handover took too long, and until when they stay. */
  readonly #stayUntilMs = new Map<number, number>()
  /** Customers that another node held when this one tried to take them. */
  #elsewhere = new Set<number>()
  #elsewhereAtMs = Number.NEGATIVE_INFINITY
  #others: readonly DeliveryNode[] = []
  readonly #findFailed: ReturnType<typeof createFailureDetector<string>>

  constructor(deps: LeasesDeps) {
    this.#deps = deps
    this.#findFailed = createFailureDetector<string>(deps.clock, FAILED_AFTER_MS)
  }

  get isAlive(): boolean {
    const { isOwner, clock } = this.#deps
    return isOwner() && clock.elapsedMs() - this.#heartbeatAtMs < UNSURE_AFTER_MS
  }

  get hasHandovers(): boolean {
    return this.#leaving.size > 0
  }

  holds(customer: number): boolean {
    return this.#held.has(customer) && !this.#leaving.has(customer)
  }

  async take(customers: readonly number[]): Promise<void> {
    const { store, node, clock } = this.#deps
    if (clock.elapsedMs() - this.#elsewhereAtMs >= ELSEWHERE_MS) this.#forgetElsewhere()
    const elsewhere = this.#elsewhere
    const free = customers.filter((no) => !this.#held.has(no) && !elsewhere.has(no))
    if (free.length === 0) return
    const taken = new Set(await store.take(node, free))
    for (const customer of free) {
      if (!taken.has(customer)) elsewhere.add(customer)
      else this.#gain(customer)
    }
  }

  async heartbeat(work: NodeWork): Promise<void> {
    const { store, node, clock, log } = this.#deps
    // The time before the statement: other nodes may see the increment long before the response.
    const startedMs = clock.elapsedMs()
    let state = await this.#read()
    if (!state) {
      // The node is new, or others regarded it as failed and hold its customers now.
      this.#held.clear()
      this.#leaving.clear()
      await store.join(node)
      // A take of a node that has not joined has no effect.
      this.#expectFree()
      state = await this.#read()
      if (!state) return
    }
    this.#heartbeatAtMs = startedMs
    this.#apply(state.customers)
    const others = state.nodes.filter(({ id }) => id !== node)
    const failedNodes = this.#findFailed(others.map(({ id, heartbeat }) => [id, heartbeat]))
    if (failedNodes.length > 0) {
      await store.remove(failedNodes)
      log.warn({ nodes: failedNodes }, 'took over the deliveries of failed nodes')
    }
    const registered = others.filter(({ id }) => !failedNodes.includes(id))
    // The customers of a node that ended are free, also if another node noticed it.
    const ids = registered.map(({ id }) => id)
    if (this.#others.some(({ id }) => !ids.includes(id))) this.#expectFree()
    this.#others = registered
    this.#beginHandovers(work)
    await this.finishHandovers(work)
  }

  async finishHandovers(work: NodeWork): Promise<void> {
    const { store, node, clock } = this.#deps
    if (this.#isMoving) return
    const ready: PendingHandover[] = []
    for (const handover of this.#leaving.values()) {
      const { customer, sinceMs } = handover
      if (work.finish(customer)) ready.push(handover)
      else if (clock.elapsedMs() - sinceMs >= HANDOVER_WAIT_MS) {
        this.#leaving.delete(customer)
        this.#stayUntilMs.set(customer, clock.elapsedMs() + HANDOVER_PAUSE_MS)
        // The engine has ignored what became due meanwhile.
        this.generation++
      }
    }
    if (ready.length === 0) return
    this.#isMoving = true
    try {
      await store.hand(node, ready)
    } finally {
      this.#isMoving = false
      // Also after a failure, which may be that of the response: the next heartbeat reads which.
      for (const { customer } of ready) this.#leave(customer)
    }
    await this.#announce()
  }

  async release(): Promise<void> {
    this.#held.clear()
    this.#leaving.clear()
    this.#heartbeatAtMs = Number.NEGATIVE_INFINITY
    await this.#deps.store.remove([this.#deps.node])
    await this.#announce()
  }

  #read() {
    this.#changes = new Map()
    return this.#deps.store.heartbeat(this.#deps.node, this.#held)
  }

  /** Applies the customers that a heartbeat read. Those that are new come from another node. */
  #apply(customers: readonly number[] | undefined): void {
    if (!customers) return
    const held = new Set(customers)
    for (const [customer, change] of this.#changes) {
      if (change === 'gained') held.add(customer)
      else held.delete(customer)
    }
    if ([...held].some((customer) => !this.#held.has(customer))) this.generation++
    this.#held = held
  }

  #gain(customer: number): void {
    this.#held.add(customer)
    this.#changes.set(customer, 'gained')
  }

  #leave(customer: number): void {
    this.#leaving.delete(customer)
    this.#held.delete(customer)
    this.#changes.set(customer, 'left')
  }

  /** Notes that customers may be free: the engine looks for their due work, and takes them. */
  #expectFree(): void {
    this.generation++
    this.#forgetElsewhere()
  }

  #forgetElsewhere(): void {
    this.#elsewhere = new Set()
    this.#elsewhereAtMs = this.#deps.clock.elapsedMs()
  }

  #beginHandovers(work: NodeWork): void {
    const sinceMs = this.#deps.clock.elapsedMs()
    for (const [customer, untilMs] of this.#stayUntilMs) {
      if (untilMs <= sinceMs || !this.#held.has(customer)) this.#stayUntilMs.delete(customer)
    }
    if (this.#others.length === 0 || this.#leaving.size > 0) return
    const candidates = [...this.#held]
      .filter((no) => !this.#stayUntilMs.has(no))
      .map((customer) => ({ customer, unfinished: work.countUnfinished(customer) }))
      .sort((a, b) => a.unfinished - b.unfinished)
      .map(({ customer }) => customer)
    for (const handover of planHandovers(candidates, this.#held.size, this.#others)) {
      this.#leaving.set(handover.customer, { ...handover, sinceMs })
    }
  }

  /** A lost announcement costs time only: the other nodes read their leases at each heartbeat. */
  async #announce(): Promise<void> {
    const { announce, log } = this.#deps
    await announce().catch((error: unknown) =>
      log.debug({ err: error }, 'other nodes were not notified of customers that moved'),
    )
  }
}
