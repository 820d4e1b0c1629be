/**
 * The waiting transactions of SQLite's writer: short ones commit together; callers whose
 * transactions take long have one at a time, in turns, between two commits of the others, and their
 * customer rests after it while others write. So a write waits for one long transaction of others
 * at most, also for one of its own customer, and few writes wait for one (§11.5). Contains no SQL.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { BESIDE_OTHERS } from '../../kernel/pace.ts'
import { createShare, type Share } from '../../kernel/share.ts'
import type { TurnKey } from '../../kernel/turns.ts'

/** A transaction of at least this time makes the next ones of its caller wait for their turn. */
export const LONG_MS = 20
/**
 * The part of the time for what long transactions take beyond `LONG_MS`, while others write: few
 * enough writes then wait for one that their p95 is that of a quiet database.
 */
const LONG_PART = 0.05
/** Callers that are remembered for their long transactions. */
const SLOW_CALLERS_MAX = 1_000
/** A transaction of a slow caller that waited longer is rejected at its turn. */
const WAIT_MAX_MS = 10_000

interface LaneJob {
  /** Undefined: the engine itself. */
  readonly customer: TurnKey | undefined
  /** A caller of the customer; undefined: the customer as a whole. */
  readonly caller?: TurnKey | undefined
  /** By `clock.elapsedMs`. */
  readonly sinceMs: number
  readonly reject: (reason: unknown) => void
}

const callerOf = ({ caller, customer }: LaneJob): TurnKey | undefined => caller ?? customer

const overloadFailure = () =>
  new Failure('overloaded', 'Too many large changes of this caller wait.', {
    headers: { 'retry-after': String(WAIT_MAX_MS / 1000) },
  })

export class WriteLanes<J extends LaneJob> {
  #short: J[] = []
  /** The transactions of slow callers, in the order of the turns. */
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
    for (const jobs of this.#long.values()) least = Math.min(least, this.#restOf(jobs))
    return least
  }

  /** Lets long transactions begin at once: the database closes. */
  endRest(): void {
    this.#rests = false
  }

  add(job: J): void {
    const caller = callerOf(job)
    if (caller !== undefined && this.#slow.has(caller)) {
      this.#addLong(caller, job)
      return
    }
    // Slow callers do not rest for each other.
    if (job.customer !== undefined) this.#share.note(job.customer)
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
  note(done: J, ms: number): void {
    const caller = callerOf(done)
    if (caller === undefined) return
    if (ms < LONG_MS) {
      this.#endSlow(caller)
      return
    }
    this.#share.addWork(done.customer ?? caller, ms - LONG_MS)
    this.#beginSlow(caller)
  }

  #beginSlow(caller: TurnKey): void {
    if (this.#slow.size >= SLOW_CALLERS_MAX) this.#slow.clear()
    this.#slow.add(caller)
    const others = this.#short
    this.#short = []
    for (const job of others) {
      if (callerOf(job) === caller) this.#addLong(caller, job)
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

  #endSlow(caller: TurnKey): void {
    if (!this.#slow.delete(caller)) return
    const jobs = this.#long.get(caller) ?? []
    this.#long.delete(caller)
    this.#longCount -= jobs.length
    this.#short.push(...jobs)
  }

  #addLong(caller: TurnKey, job: J): void {
    const jobs = this.#long.get(caller)
    if (jobs) jobs.push(job)
    else this.#long.set(caller, [job])
    this.#longCount += 1
  }

  /** The rest of the customer of jobs, which are those of one caller. */
  #restOf([job]: readonly J[]): number {
    const customer = job && (job.customer ?? callerOf(job))
    return this.#rests && customer !== undefined ? this.#share.restMs(customer) : 0
  }

  /**
   * Returns the next job of a caller whose customer has rested. The caller's other jobs wait behind
   * those of the other slow callers.
   */
  #nextLong(): J | undefined {
    const latestMs = this.#clock.elapsedMs() - WAIT_MAX_MS
    for (const [caller, jobs] of this.#long) {
      if (this.#restOf(jobs) > 0) continue
      const job = jobs.shift()!
      this.#longCount -= 1
      this.#long.delete(caller)
      if (jobs.length > 0) this.#long.set(caller, jobs)
      if (job.sinceMs >= latestMs) return job
      job.reject(overloadFailure())
    }
    return undefined
  }
}
