/**
 * The waiting transactions of SQLite's writer: short ones commit together; customers whose
 * transactions take long have one at a time, in turns, between two commits of the others. So a
 * write waits for one long transaction of others at most (§11.5). Contains no SQL.
 */
import type { TurnKey } from '../kernel/turns.ts'

/** A transaction of at least this time makes the next ones of its customer wait for their turn. */
export const LONG_MS = 20
/** Customers that are remembered for their long transactions. */
const SLOW_CUSTOMERS_MAX = 1_000

interface LaneJob {
  /** Undefined: the engine itself. */
  readonly customer: TurnKey | undefined
}

export class WriteLanes<J extends LaneJob> {
  #short: J[] = []
  /** The transactions of slow customers, in the order of the turns. */
  readonly #long = new Map<TurnKey, J[]>()
  #longCount = 0
  #isTurnOfLong = false
  readonly #slow = new Set<TurnKey>()

  get length(): number {
    return this.#short.length + this.#longCount
  }

  add(job: J): void {
    const { customer } = job
    if (customer === undefined || !this.#slow.has(customer)) this.#short.push(job)
    else this.#addLong(customer, job)
  }

  /** Returns jobs to the front; they were taken before. */
  restore(jobs: readonly J[]): void {
    this.#short.unshift(...jobs)
  }

  /** Begins a batch. Returns a function that returns the next job of the batch. */
  begin(): () => J | undefined {
    const isLong = this.#longCount > 0 && (this.#isTurnOfLong || this.#short.length === 0)
    this.#isTurnOfLong = !isLong
    if (!isLong) return () => this.#short.shift()
    let job: J | undefined = this.#nextLong()
    return () => {
      const next = job
      job = undefined
      return next
    }
  }

  /** Notes how long a transaction took. */
  note({ customer }: J, ms: number): void {
    if (customer === undefined) return
    if (ms < LONG_MS) this.#endSlow(customer)
    else this.#beginSlow(customer)
  }

  #beginSlow(customer: TurnKey): void {
    if (this.#slow.size >= SLOW_CUSTOMERS_MAX) this.#slow.clear()
    this.#slow.add(customer)
    const others = this.#short
    this.#short = []
    for (const job of others) this.add(job)
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

  /** The customer's other jobs wait behind those of the other slow customers. */
  #nextLong(): J {
    const [customer, jobs] = this.#long.entries().next().value!
    const job = jobs.shift()!
    this.#longCount -= 1
    this.#long.delete(customer)
    if (jobs.length > 0) this.#long.set(customer, jobs)
    return job
  }
}
