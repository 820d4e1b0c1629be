/**
 * The waiting transactions of SQLite's writer: short ones commit together; customers whose
 * transactions take long have one at a time, in turns, between two commits of the others, and rest
 * after it while others write. So a write waits for one long transaction of others at most, and
 * few writes wait for one (§11.5). Contains no SQL.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { BESIDE_OTHERS } from '../../kernel/pace.ts'
import { createShare, type Share } from '../../kernel/share.ts'
import type { TurnKey } from '../../kernel/turns.ts'

/** A transaction of at least this time makes the next ones of its customer wait for their turn. */
export const LONG_MS = 20
/**
 * The part of the time for what long transactions take beyond `LONG_MS`, while others write: few
 * enough writes then wait for one that their p95 is that of a quiet database.
 */
const LONG_PART = 0.05
/** Customers that are remembered for their long transactions. */
const SLOW_CUSTOMERS_MAX = 1_000
/** A transaction of a slow customer that waited longer is rejected at its turn. */
const WAIT_MAX_MS = 10_000

interface LaneJob {
  /** Undefined: the engine itself. */
  readonly customer: TurnKey | undefined
  /** By `clock.elapsedMs`. */
  readonly sinceMs: number
  readonly reject: (reason: unknown) => void
}

const overloadFailure = () =>
  new Failure('overloaded', 'Too many large changes of this caller wait.', {
    headers: { 'retry-after': String(WAIT_MAX_MS / 1000) },
  })

export class WriteLanes<J extends LaneJob> {
  #short: J[] = []
  /** The transactions of slow customers, in the order of the turns. */
  readonly #long = new Map<TurnKey, J[]>()
  #longCount = 0
  #isTurnOfLong = false
  readonly #slow = new Set<TurnKey>()
  readonly #clock: Pick<Clock, 'elapsedMs'>
  readonly #share: Share
  /** False when the database closes. */
  #rests = true

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock
    this.#share = createShare({ clock, part: LONG_PART, ...BESIDE_OTHERS })
  }

  get length(): number {
    return this.#short.length + this.#longCount
  }

  /** Returns the milliseconds until a job may begin; 0 if one may begin now. */
  get restMs(): number {
    if (this.#short.length > 0) return 0
    let least = Number.POSITIVE_INFINITY
    for (const customer of this.#long.keys()) least = Math.min(least, this.#restOf(customer))
    return least
  }

  /** Lets long transactions begin at once: the database closes. */
  endRest(): void {
    this.#rests = false
  }

  add(job: J): void {
    const { customer } = job
    if (customer !== undefined && this.#slow.has(customer)) {
      this.#addLong(customer, job)
      return
    }
    // Slow customers do not rest for each other.
    if (customer !== undefined) this.#share.note(customer)
    this.#short.push(job)
  }

  /** Returns jobs to the front; they were taken before. */
  restore(jobs: readonly J[]): void {
    this.#short.unshift(...jobs)
  }

  /** Begins a batch. Returns a function that returns the next job of the batch. */
  begin(): () => J | undefined {
    const isTurn = this.#isTurnOfLong || this.#short.length === 0
    let job = isTurn ? this.#nextLong() : undefined
    this.#isTurnOfLong = job === undefined
    if (!job) return () => this.#short.shift()
    return () => {
      const next = job
      job = undefined
      return next
    }
  }

  /** Notes how long a transaction took. */
  note({ customer }: J, ms: number): void {
    if (customer === undefined) return
    if (ms < LONG_MS) {
      this.#endSlow(customer)
      return
    }
    this.#share.addWork(customer, ms - LONG_MS)
    this.#beginSlow(customer)
  }

  #beginSlow(customer: TurnKey): void {
    if (this.#slow.size >= SLOW_CUSTOMERS_MAX) this.#slow.clear()
    this.#slow.add(customer)
    const others = this.#short
    this.#short = []
    for (const job of others) {
      if (job.customer === customer) this.#addLong(customer, job)
      else this.#short.push(job)
    }
  }

  /** Removes and returns all jobs. */
  clear(): J[] {
    const jobs = [...this.#short, ...[...this.#long.values()].flat()]
    this.#short = []
    this.#long.clear()
    this.#longCount = 0
    return jobs
  }

  #endSlow(customer: TurnKey): void {
    if (!this.#slow.delete(customer)) return
    const jobs = this.#long.get(customer) ?? []
    this.#long.delete(customer)
    this.#longCount -= jobs.length
    this.#short.push(...jobs)
  }

  #addLong(customer: TurnKey, job: J): void {
    const jobs = this.#long.get(customer)
    if (jobs) jobs.push(job)
    else this.#long.set(customer, [job])
    this.#longCount += 1
  }

  #restOf(customer: TurnKey): number {
    return this.#rests ? this.#share.restMs(customer) : 0
  }

  /**
   * Returns the next job of a customer that has rested. The customer's other jobs wait behind those
   * of the other slow customers.
   */
  #nextLong(): J | undefined {
    const latestMs = this.#clock.elapsedMs() - WAIT_MAX_MS
    for (const [customer, jobs] of this.#long) {
      if (this.#restOf(customer) > 0) continue
      const job = jobs.shift()!
      this.#longCount -= 1
      this.#long.delete(customer)
      if (jobs.length > 0) this.#long.set(customer, jobs)
      if (job.sinceMs >= latestMs) return job
      job.reject(overloadFailure())
    }
    return undefined
  }
}
