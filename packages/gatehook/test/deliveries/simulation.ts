/**
 * A world for the engine without sockets, threads or a database: a clock that jumps, receivers that
 * answer by a script, rows in a map, and crashes. Everything follows from a seed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { quietLog } from '../../../../test/rig/databases.ts'
import { Engine, type EngineDeps } from '../../src/deliveries/engine.ts'
import { APART_MS, FAILING_MS } from '../../src/deliveries/health.ts'
import type { Due, Registration, Settlement, WorkStore } from '../../src/deliveries/work.ts'
import type { Scope } from '../../src/kernel/principal.ts'
import type { Outcome } from '../../src/transport/attempt.ts'

/** mulberry32: small, good enough, the same everywhere. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const answer = (status: number, retryAfter?: string): Reply => ({
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

export const hang: Reply = {
  afterMs: 15_000,
  outcome: (durationMs) => ({ kind: 'failed', reason: 'timeout', message: 'late', durationMs }),
}

export interface Reply {
  readonly afterMs: number
  readonly outcome: (durationMs: number) => Outcome
}

/** What a receiver answers, the time being `now`. */
export type Receiver = (delivery: Due, now: number) => Reply

export interface Row extends Due {
  readonly webhook: number
  state: Settlement['state']
  attempt: number
  nextAt: number | null
  /** When each attempt arrived. */
  readonly arrivals: number[]
}

interface Endpoint {
  registration: Registration
  receiver: Receiver
  inFlight: number
  mostInFlight: number
}

const START = Date.UTC(2026, 10, 21)

export class World {
  /** Real time: what passes, whatever the clock says. */
  now = START
  /** How far the clock is off. */
  skewMs = 0
  readonly random: () => number
  readonly rows = new Map<number, Row>()
  readonly endpoints = new Map<number, Endpoint>()
  readonly disabled: { no: number; reason: string; at: number }[] = []
  /** Nothing can be written. */
  full = false
  engine: Engine
  readonly #options: Partial<EngineDeps>
  #running: { readonly at: number; readonly end: () => void }[] = []
  #life = 0

  constructor(seed: number, options: Partial<EngineDeps> = {}) {
    this.random = seeded(seed)
    this.#options = options
    this.engine = this.#boot()
  }

  /** What the clock says. */
  get time(): number {
    return this.now + this.skewMs
  }

  register(no: number, customer: number, receiver: Receiver): void {
    const registration: Registration = {
      ...{ no, customer, id: `wh_${no}`, url: '', scope: (customer * 2) as Scope },
      ...{ sends: true, revision: 1, secrets: [], rate: undefined, parkedUntil: null },
      ...{ firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null },
    }
    this.endpoints.set(no, { registration, receiver, inFlight: 0, mostInFlight: 0 })
  }

  change(no: number, changes: Partial<Registration>): void {
    const endpoint = this.endpoints.get(no)!
    const revision = endpoint.registration.revision + 1
    endpoint.registration = { ...endpoint.registration, ...changes, revision }
  }

  /** An event was committed; the engine is told, unless `quiet`. */
  add(webhook: number, { quiet = false, body = '{}' as string | undefined } = {}): Row {
    const no = this.rows.size + 1
    const row: Row = {
      ...{ no, webhook, id: `dlv_${no}`, eventId: `evt_${no}`, eventType: 'a.b', attempt: 0 },
      ...{ createdAt: this.time, body, state: 'pending', nextAt: this.time, arrivals: [] },
    }
    this.rows.set(no, row)
    if (!quiet) void this.engine.wake([webhook])
    return row
  }

  /** kill -9: what was in memory is gone, what was sent may have arrived. */
  crash(): void {
    this.#life += 1
    this.#running = []
    for (const endpoint of this.endpoints.values()) endpoint.inFlight = 0
    this.engine = this.#boot()
  }

  /** Lets time pass, every instant something is due at, for so long. */
  async run(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      await this.#turn()
      if (this.now >= end) return
      this.now = Math.min(end, this.#next())
      this.#running
        .filter((one) => one.at <= this.now)
        .forEach((one) => {
          this.#running.splice(this.#running.indexOf(one), 1)
          one.end()
        })
    }
  }

  count(state: Row['state'], webhook?: number): number {
    let count = 0
    for (const row of this.rows.values()) {
      if (row.state === state && (webhook ?? row.webhook) === row.webhook) count += 1
    }
    return count
  }

  async #turn(): Promise<void> {
    await this.#tick()
    await nextTurn()
    await this.#tick()
  }

  async #tick(): Promise<void> {
    try {
      await this.engine.tick()
    } catch (error) {
      if (!this.full) throw error
      this.engine.sweep()
    }
  }

  /** Answers and rows tell when; a second is the longest while something is held up. */
  #next(): number {
    let next = this.now + 3_600_000
    for (const { at } of this.#running) next = Math.min(next, at)
    for (const { state, nextAt, webhook } of this.rows.values()) {
      if (state !== 'pending' || !this.endpoints.get(webhook)?.registration.sends) continue
      next = Math.min(next, nextAt! > this.time ? nextAt! - this.skewMs : this.now + 1000)
    }
    return Math.max(next, this.now + 1)
  }

  #boot(): Engine {
    const life = this.#life
    const clock = { now: () => this.time, elapsedMs: () => this.now - START }
    return new Engine({
      store: this.#store(life),
      leases: { alive: true, holds: () => true, take: async () => {} },
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

  #arrive(no: number, due: Due, resolve: (outcome: Outcome) => void): void {
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

  #store(life: number): WorkStore {
    const mine = () => {
      if (life !== this.#life) throw new Error('a dead engine works')
    }
    const pending = (no: number) =>
      [...this.rows.values()]
        .filter((row) => row.webhook === no && row.state === 'pending')
        .sort((a, b) => a.nextAt! - b.nextAt! || a.no - b.no)
    return {
      scan: async () => {
        mine()
        return [...this.endpoints.values()]
          .map(({ registration: { no, customer, sends } }) => ({ no, customer, sends }))
          .filter(({ no, sends }) => sends && pending(no).length > 0)
          .map(({ no, customer }) => ({ no, customer, dueAt: pending(no)[0]!.nextAt! }))
      },
      look: async (no) => this.endpoints.get(no)?.registration,
      due: async (no, now, known, limit) => {
        const fresh = pending(no).filter((row) => !known.has(row.no))
        const rows = fresh.filter((row) => row.nextAt! <= now).slice(0, limit)
        return {
          rows: rows.map((row) => ({ ...row })),
          nextAt: fresh[rows.length]?.nextAt ?? undefined,
        }
      },
      largeBody: async (no) => this.rows.get(no)?.body,
      settle: async (settlements, notes) => {
        mine()
        if (this.full) throw new Error('the disk is full')
        for (const { no, state, attempt, nextAt } of settlements) {
          const row = this.rows.get(no)!
          if (row.state === 'pending') Object.assign(row, { state, attempt, nextAt })
        }
        for (const { no, ...note } of notes) {
          const endpoint = this.endpoints.get(no)!
          endpoint.registration = { ...endpoint.registration, ...note }
        }
      },
      disable: async (no, reason) => {
        if (!this.endpoints.get(no)!.registration.sends) return
        this.disabled.push({ no, reason, at: this.now })
        this.change(no, { sends: false })
      },
      failing: async (now) =>
        [...this.endpoints.values()]
          .map((endpoint) => endpoint.registration)
          .filter(({ sends, firstFailureAt: first, lastFailureAt: last }) =>
            first === null || last === null || !sends
              ? false
              : first <= now - FAILING_MS && last >= first + APART_MS,
          )
          .map(({ no }) => no),
    }
  }
}
