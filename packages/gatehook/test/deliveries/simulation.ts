/**
 * A simulated world for the engine, without sockets, threads or a database: a clock that jumps,
 * scripted receivers, rows in a map, and crashes. The seed determines everything.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { quietLog } from '../../../../test/rig/databases.ts'
import { FAILING_MS, FAILURES_APART_MS } from '../../src/deliveries/endpoint-health.ts'
import { DeliveryEngine, type EngineDeps } from '../../src/deliveries/engine.ts'
import type {
  DeliveryResult,
  DueDelivery,
  EngineRegistration,
  EngineStore,
} from '../../src/deliveries/ports.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import type { Outcome } from '../../src/transport/attempt.ts'

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

interface SimulatedEndpoint {
  registration: EngineRegistration
  receiver: Receiver
  inFlight: number
  mostInFlight: number
}

const START = Date.UTC(2026, 10, 21)

export class World {
  /** Real time, which passes regardless of the clock. */
  now = START
  /** The clock's error. */
  skewMs = 0
  readonly random: () => number
  readonly rows = new Map<number, Row>()
  readonly endpoints = new Map<number, SimulatedEndpoint>()
  readonly disabled: { no: number; reason: string; at: number }[] = []
  /** The disk is full: every write fails. */
  isFull = false
  engine: DeliveryEngine
  readonly #options: Partial<EngineDeps>
  #running: { readonly at: number; readonly end: () => void }[] = []
  #life = 0

  constructor(seed: number, options: Partial<EngineDeps> = {}) {
    this.random = seeded(seed)
    this.#options = options
    this.engine = this.#startEngine()
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
      no,
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
    this.rows.set(no, row)
    if (!quiet) void this.engine.wake([webhook])
    return row
  }

  /** Makes a delivery due again, as a caller requests, and wakes the engine. */
  resend(row: Row): void {
    Object.assign(row, { state: 'pending', nextAt: this.time })
    void this.engine.wake([row.webhook], [{ webhookNo: row.webhook, deliveryNo: row.no }])
  }

  /** Simulates kill -9: the engine loses its memory; attempts in flight may have arrived. */
  crash(): void {
    this.#life += 1
    this.#running = []
    for (const endpoint of this.endpoints.values()) endpoint.inFlight = 0
    this.engine = this.#startEngine()
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
    await this.#tick()
  }

  /** As in `loop.ts`, a failure of the store does not stop the engine. */
  async #tick(): Promise<void> {
    try {
      await this.engine.tick()
    } catch (error) {
      if (!this.isFull) throw error
      this.engine.sweep()
    }
  }

  /** Returns when the next attempt ends or row is due; 1 s from now while a due row waits. */
  #nextInstant(): number {
    let next = this.now + 3_600_000
    for (const { at } of this.#running) next = Math.min(next, at)
    for (const { state, nextAt, webhook } of this.rows.values()) {
      if (state !== 'pending' || !this.endpoints.get(webhook)?.registration.sends) continue
      next = Math.min(next, nextAt! > this.time ? nextAt! - this.skewMs : this.now + 1000)
    }
    return Math.max(next, this.now + 1)
  }

  #startEngine(): DeliveryEngine {
    const clock = { now: () => this.time, elapsedMs: () => this.now - START }
    return new DeliveryEngine({
      store: this.#createStore(this.#life),
      leases: { isAlive: true, generation: 0, holds: () => true, take: async () => {} },
      post: (registration, due) =>
        new Promise((resolve) => this.#arrive(registration.no, due, resolve)),
      clock,
      chance: this.random,
      log: quietLog,
      scheduleS: [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400],
      rate: undefined,
      ...this.#options,
    })
  }

  #arrive(no: number, due: DueDelivery, resolve: (outcome: Outcome) => void): void {
    const endpoint = this.endpoints.get(no)!
    this.rows.get(due.no)!.arrivals.push(this.now)
    endpoint.inFlight += 1
    endpoint.mostInFlight = Math.max(endpoint.mostInFlight, endpoint.inFlight)
    const { afterMs, outcome } = endpoint.receiver(due, this.now)
    const end = () => {
      endpoint.inFlight -= 1
      resolve(outcome(afterMs))
    }
    this.#running.push({ at: this.now + afterMs, end })
  }

  #createStore(life: number): EngineStore {
    const requireAlive = () => {
      if (life !== this.#life) throw new Error('a crashed engine uses the store')
    }
    const pendingRows = (no: number) =>
      [...this.rows.values()]
        .filter((row) => row.webhook === no && row.state === 'pending')
        .sort((a, b) => a.nextAt! - b.nextAt! || a.no - b.no)
    /** Endpoints that send, with their first delivery that is due after an instant. */
    const pendingEndpoints = (after: number) =>
      [...this.endpoints.values()].flatMap(({ registration: { no, customer, sends } }) => {
        const first = pendingRows(no).find(({ nextAt }) => nextAt! > after)
        return sends && first ? [{ no, customer, dueAt: first.nextAt! }] : []
      })
    return {
      readDuePage: async (after, until) => {
        requireAlive()
        const due = pendingEndpoints(after).filter(({ dueAt }) => dueAt <= until)
        const [next] = pendingEndpoints(until).sort((a, b) => a.dueAt - b.dueAt)
        return { endpoints: due, readUntil: until, isComplete: true, nextDueAt: next?.dueAt }
      },
      readEndpointSlice: async (after, limit) => {
        requireAlive()
        const later = pendingEndpoints(0).filter(({ no }) => no > after)
        const endpoints = later.slice(0, limit)
        return { endpoints, next: later.length > limit ? endpoints.at(-1)?.no : undefined }
      },
      readRegistration: async (no) => this.endpoints.get(no)?.registration,
      readDueDeliveries: async (no, now, loadedNos, limit) => {
        const others = pendingRows(no).filter((row) => !loadedNos.has(row.no))
        const rows = others.filter((row) => row.nextAt! <= now).slice(0, limit)
        return {
          rows: rows.map((row) => ({ ...row })),
          nextDueAt: others[rows.length]?.nextAt ?? undefined,
        }
      },
      readResentDeliveries: async (now, nos) =>
        [...this.rows.values()]
          .filter(
            ({ no, state, nextAt }) => nos.includes(no) && state === 'pending' && nextAt! <= now,
          )
          .map((row) => ({ ...row })),
      readSummary: async () => undefined,
      readLargeBody: async (no) => this.rows.get(no)?.body,
      writeResults: async (results, health) => {
        requireAlive()
        if (this.isFull) throw new Error('the disk is full')
        for (const { no, state, attempt, nextAt } of results) {
          const row = this.rows.get(no)!
          if (row.state === 'pending') Object.assign(row, { state, attempt, nextAt })
        }
        for (const { no, ...update } of health) {
          const endpoint = this.endpoints.get(no)!
          endpoint.registration = { ...endpoint.registration, ...update }
        }
      },
      disableRegistration: async (no, reason) => {
        if (!this.endpoints.get(no)!.registration.sends) return
        this.disabled.push({ no, reason, at: this.now })
        this.change(no, { sends: false })
      },
      listFailing: async (now) =>
        [...this.endpoints.values()]
          .map(({ registration }) => registration)
          .filter(({ sends, firstFailureAt: first, lastFailureAt: last }) =>
            first === null || last === null || !sends
              ? false
              : first <= now - FAILING_MS && last >= first + FAILURES_APART_MS,
          )
          .map(({ no }) => no),
    }
  }
}
