/**
 * A simulated world for the engine, without sockets, threads or a database: a clock that jumps,
 * scripted receivers, rows in a map, and crashes of one or several nodes. The seed determines
 * everything.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { quietLog } from '../../../../test/rig/databases.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import { DeliveryEngine, type EngineDeps } from '../../src/outbound/deliveries/engine.ts'
import { HEARTBEAT_MS, SharedLeases } from '../../src/outbound/deliveries/leases.ts'
import type {
  DeliveryResult,
  DueDelivery,
  EngineRegistration,
  Leases,
  NodeLeases,
} from '../../src/outbound/deliveries/ports.ts'
import type { Outcome } from '../../src/outbound/transport/attempt.ts'
import { MemoryLeases } from './memory-leases.ts'
import { createSimulatedStore } from './simulated-store.ts'

/** Returns a seeded generator (mulberry32) of numbers from 0 up to 1. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** How a receiver behaves in one attempt. */
export interface Reply {
  readonly afterMs: number
  readonly outcome: (durationMs: number) => Outcome
}

/** Responds with a status after 5 ms. */
export const respond = (status: number, retryAfter?: string): Reply => ({
  afterMs: 5,
  outcome: (durationMs) => ({
    kind: 'answered',
    status,
    headers: {},
    body: '',
    durationMs,
    ...(retryAfter !== undefined && { retryAfter }),
  }),
})

/** Never responds: the attempt times out after 15 s. */
export const hang: Reply = {
  afterMs: 15_000,
  outcome: (durationMs) => ({ kind: 'failed', reason: 'timeout', message: 'late', durationMs }),
}

/** Decides the reply to a delivery that arrives at `now`. */
export type Receiver = (delivery: DueDelivery, now: number) => Reply

export interface Row extends DueDelivery {
  readonly webhook: number
  state: DeliveryResult['state']
  attempt: number
  nextAt: number | null
  /** When each attempt arrived. */
  readonly arrivals: number[]
}

export interface SimulatedEndpoint {
  registration: EngineRegistration
  receiver: Receiver
  inFlight: number
  mostInFlight: number
}

/** One of several nodes that share the rows. */
export interface SimulatedNode {
  readonly engine: DeliveryEngine
  readonly leases: NodeLeases
  isUp: boolean
  heartbeatAt: number
  isBeating: boolean
}

interface RunningAttempt {
  readonly at: number
  readonly end: () => void
  readonly webhook: number
  /** The life of the engine that sent it. */
  readonly life: number
}

/** One node that holds every customer. */
const ALL_CUSTOMERS: Leases = {
  isAlive: true,
  generation: 0,
  holds: () => true,
  take: async () => {},
}

const START = Date.UTC(2026, 10, 21)

export class World {
  /** Real time, which passes regardless of the clock. */
  now = START
  /** The clock's error. */
  skewMs = 0
  readonly random: () => number
  readonly rows = new Map<string, Row>()
  /** The ids of deliveries in the order of their attempts. */
  readonly arrivals: string[] = []
  readonly endpoints = new Map<number, SimulatedEndpoint>()
  readonly disabled: { no: number; reason: string; at: number }[] = []
  /** The disk is full: every write fails. */
  isFull = false
  /** Half of the committed deliveries are passed to an engine up to so long after the commit. */
  lateMs = 0
  engine: DeliveryEngine
  /** Empty: `engine` alone sends. */
  readonly nodes: SimulatedNode[] = []
  readonly leases = new MemoryLeases()
  readonly #options: Partial<EngineDeps>
  #running: RunningAttempt[] = []
  /** Committed deliveries in transit to an engine. */
  #messages: { readonly at: number; readonly life: number; readonly wake: () => void }[] = []
  #lives = 0
  readonly #ended = new Set<number>()
  readonly #lifeOf = new WeakMap<DeliveryEngine, number>()

  constructor(seed: number, options: Partial<EngineDeps> = {}) {
    this.random = seeded(seed)
    this.#options = options
    this.engine = this.#startEngine()
    this.leases.delay = async () => {
      for (let turns = this.random() * 4; turns > 1; turns--) await nextTurn()
    }
  }

  /** Starts a node; from the first one on, nodes send instead of the single engine. */
  startNode(): SimulatedNode {
    const clock = this.#createClock()
    const leases: NodeLeases = new SharedLeases({
      store: this.leases,
      isOwner: () => true,
      clock,
      log: quietLog,
      node: `node${this.#lives}`,
      announce: async () => {
        for (const node of this.nodes) node.heartbeatAt = this.now
      },
    })
    const engine = this.#startEngine(leases)
    const node = { engine, leases, isUp: true, heartbeatAt: this.now, isBeating: false }
    this.nodes.push(node)
    return node
  }

  /** Simulates kill -9 of a node. */
  killNode(node: SimulatedNode): void {
    node.isUp = false
    this.#end(this.#lifeOf.get(node.engine)!)
  }

  /** Ends a node after its attempts, as SIGTERM does. */
  async stopNode(node: SimulatedNode): Promise<void> {
    let hasDrained = false
    const drain = node.engine.drain().then(() => void (hasDrained = true))
    while (!hasDrained) await this.run(10)
    await drain
    node.isUp = false
    await node.leases.release()
  }

  /** The time of the clock. */
  get time(): number {
    return this.now + this.skewMs
  }

  register(no: number, customer: number, receiver: Receiver): void {
    const registration: EngineRegistration = {
      customerId: 'cus_1',
      no,
      customer,
      id: `wh_${no}`,
      url: '',
      scope: (customer * 2) as Scope,
      sends: true,
      revision: 1,
      secrets: [],
      rate: undefined,
      holdUntil: null,
      firstFailureAt: null,
      lastFailureAt: null,
      lastSuccessAt: null,
    }
    this.endpoints.set(no, { registration, receiver, inFlight: 0, mostInFlight: 0 })
  }

  change(no: number, changes: Partial<EngineRegistration>): void {
    const endpoint = this.endpoints.get(no)!
    const revision = endpoint.registration.revision + 1
    endpoint.registration = { ...endpoint.registration, ...changes, revision }
  }

  /** Commits an event with its delivery, and wakes the engine unless `quiet`. */
  add(webhook: number, { quiet = false, body = '{}' as string | undefined } = {}): Row {
    const no = this.rows.size + 1
    const row: Row = {
      webhook,
      id: `dlv_${no}`,
      eventId: `evt_${no}`,
      eventType: 'a.b',
      attempt: 0,
      createdAt: this.time,
      body,
      state: 'pending',
      nextAt: this.time,
      arrivals: [],
    }
    this.rows.set(row.id, row)
    if (!quiet) this.#pass(row)
    return row
  }

  /** Makes a delivery due again, as a caller requests, and wakes the engine. */
  resend(row: Row): void {
    Object.assign(row, { state: 'pending', nextAt: this.time })
    this.#wake([row.webhook], [{ webhookNo: row.webhook, delivery: row.id }])
  }

  /** Passes the committed delivery to a node, some time after the commit. */
  #pass(row: Row): void {
    const { webhook: webhookNo, body } = row
    if (body === undefined) {
      this.#wake([webhookNo])
      return
    }
    const { revision } = this.endpoints.get(webhookNo)!.registration
    const committed = [{ webhookNo, revision, dueAt: row.nextAt!, due: { ...row, body } }]
    const isLate = this.lateMs > 0 && this.random() < 0.5
    const afterMs = isLate ? Math.floor(this.random() * this.lateMs) : 0
    const engines = this.#engines
    const engine = engines[Math.floor(this.random() * engines.length)]!
    const wake = () => void engine.wake([], [], committed).then((nos) => this.#wake(nos))
    if (afterMs === 0) wake()
    else this.#messages.push({ at: this.now + afterMs, life: this.#lifeOf.get(engine)!, wake })
  }

  #wake(...wakeUp: Parameters<DeliveryEngine['wake']>): void {
    for (const engine of this.#engines) void engine.wake(...wakeUp)
  }

  get #engines(): readonly DeliveryEngine[] {
    if (this.nodes.length === 0) return [this.engine]
    return this.nodes.filter(({ isUp }) => isUp).map(({ engine }) => engine)
  }

  /** Simulates kill -9: the engine loses its memory; attempts in flight may have arrived. */
  crash(): void {
    this.#end(this.#lifeOf.get(this.engine)!)
    this.engine = this.#startEngine()
  }

  #end(life: number): void {
    this.#ended.add(life)
    for (const attempt of this.#running) {
      if (attempt.life === life) this.endpoints.get(attempt.webhook)!.inFlight -= 1
    }
    this.#running = this.#running.filter((attempt) => attempt.life !== life)
  }

  /** Lets real time pass, and ticks at every instant at which something is due. */
  async run(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      await this.#tickTwice()
      if (this.now >= end) return
      this.now = Math.min(end, this.#nextInstant())
      const ended = this.#running.filter(({ at }) => at <= this.now)
      for (const attempt of ended) {
        this.#running.splice(this.#running.indexOf(attempt), 1)
        attempt.end()
      }
      const arrived = this.#messages.filter(({ at }) => at <= this.now)
      this.#messages = this.#messages.filter(({ at }) => at > this.now)
      for (const { life, wake } of arrived) if (!this.#ended.has(life)) wake()
    }
  }

  count(state: Row['state'], webhook?: number): number {
    let count = 0
    for (const row of this.rows.values()) {
      if (row.state === state && (webhook ?? row.webhook) === row.webhook) count += 1
    }
    return count
  }

  async #tickTwice(): Promise<void> {
    await this.#tick()
    await nextTurn()
    // Statements of the leases take several turns, and little simulated time.
    for (let n = 0; n < 5 && this.nodes.length > 0; n++) await nextTurn()
    await this.#tick()
  }

  /** As in `loop.ts`, a failure of the store does not stop the engine. */
  async #tick(): Promise<void> {
    for (const node of this.nodes) {
      if (node.isUp) this.#renewLeases(node)
    }
    for (const engine of this.#engines) {
      try {
        await engine.tick()
      } catch (error) {
        if (!this.isFull) throw error
        engine.sweep()
      }
    }
  }

  #renewLeases(node: SimulatedNode): void {
    const { engine, leases } = node
    if (leases.hasHandovers) void leases.finishHandovers(engine)
    if (node.heartbeatAt > this.now) return
    node.heartbeatAt = this.now + HEARTBEAT_MS
    // As in `loop.ts`, one heartbeat at a time.
    if (node.isBeating) return
    node.isBeating = true
    void leases.heartbeat(engine).finally(() => {
      node.isBeating = false
    })
  }

  /** Returns when the next attempt ends or row is due; 1 s from now while a due row waits. */
  #nextInstant(): number {
    let next = this.now + 3_600_000
    for (const { at } of [...this.#running, ...this.#messages]) next = Math.min(next, at)
    for (const { isUp, heartbeatAt } of this.nodes) {
      if (isUp) next = Math.min(next, heartbeatAt)
    }
    for (const { state, nextAt, webhook } of this.rows.values()) {
      if (state !== 'pending' || !this.endpoints.get(webhook)?.registration.sends) continue
      next = Math.min(next, nextAt! > this.time ? nextAt! - this.skewMs : this.now + 1000)
    }
    return Math.max(next, this.now + 1)
  }

  #createClock() {
    return { now: () => this.time, elapsedMs: () => this.now - START }
  }

  #startEngine(leases: Leases = ALL_CUSTOMERS): DeliveryEngine {
    const life = this.#lives++
    const engine = new DeliveryEngine({
      store: createSimulatedStore(this, () => {
        if (this.#ended.has(life)) throw new Error('a crashed engine uses the store')
      }),
      leases,
      post: (registration, due) =>
        new Promise((resolve) => this.#arrive(registration.no, due, { life, resolve })),
      clock: this.#createClock(),
      chance: this.random,
      log: quietLog,
      scheduleS: [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400],
      rate: undefined,
      ...this.#options,
    })
    this.#lifeOf.set(engine, life)
    return engine
  }

  #arrive(
    no: number,
    due: DueDelivery,
    { life, resolve }: { readonly life: number; readonly resolve: (outcome: Outcome) => void },
  ): void {
    const endpoint = this.endpoints.get(no)!
    this.rows.get(due.id)!.arrivals.push(this.now)
    this.arrivals.push(due.id)
    endpoint.inFlight += 1
    endpoint.mostInFlight = Math.max(endpoint.mostInFlight, endpoint.inFlight)
    const { afterMs, outcome } = endpoint.receiver(due, this.now)
    const end = () => {
      endpoint.inFlight -= 1
      resolve(outcome(afterMs))
    }
    this.#running.push({ at: this.now + afterMs, end, webhook: no, life })
  }
}
