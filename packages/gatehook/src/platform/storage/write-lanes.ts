/**
 * The waiting transactions of SQLite's writer. Short ones commit together. A customer that has slow
 * callers waits for its turn between two commits of the others, and in its turn the callers take
 * turns. After a long transaction the customer's slow callers rest while others write. So a write
 * waits for one long transaction of other customers at most, whatever their number of callers, also
 * for one of its own customer, and few writes wait for one (§11.5). Contains no SQL.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { BESIDE_OTHERS } from '../../kernel/pace.ts'
import { createShare, type Share } from '../../kernel/share.ts'
import type { TurnKey } from '../../kernel/turns.ts'

/** A transaction of at least this time makes its caller slow. */
export const LONG_MS = 20
/**
 * A caller is slow for this time after a long transaction, which also bounds their number. The only
 * slow caller of a customer is slow until its next short transaction.
 */
export const SLOW_MS = 30_000
/** A transaction of a slow caller that waited longer is rejected at its turn. */
const WAIT_MAX_MS = 10_000
/** Of the time beside others: writes wait for a whole transaction, reads for its commit. */
const LONG_PART = 1 / 32

interface LaneJob {
  /** Undefined: the engine itself. */
  readonly customer: TurnKey | undefined
  /** A caller of the customer; undefined: the customer as a whole. */
  readonly caller?: TurnKey | undefined
  /** Whether it is likely long: then it rests like those of slow callers, once there are some. */
  readonly isLarge?: boolean | undefined
  /** By `clock.elapsedMs`. */
  readonly sinceMs: number
  readonly reject: (reason: unknown) => void
}

/** A customer that has slow callers. */
interface SlowCustomer<J> {
  /** When the last long transaction of each slow caller ended, in this order. */
  readonly slow: Map<TurnKey, number>
  /** The waiting transactions of each caller, in the order of the turns. */
  readonly waiting: Map<TurnKey, J[]>
}

const overloadFailure = () =>
  new Failure('overloaded', 'Too many large changes wait.', {
    headers: { 'retry-after': String(WAIT_MAX_MS / 1000) },
  })

export class WriteLanes<J extends LaneJob> {
  /** The transactions of the engine, and of customers without slow callers. */
  #short: J[] = []
  /** In the order of the turns. */
  readonly #lanes = new Map<TurnKey, SlowCustomer<J>>()
  #laneCount = 0
  #isTurnOfLanes = false
  readonly #clock: Pick<Clock, 'elapsedMs'>
  readonly #share: Share
  /** Jobs that left their turn for a moment: no transaction of a slow caller takes it. */
  readonly #held = new Set<J>()
  /** False when the database closes. */
  #rests = true

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#clock = clock
    this.#share = createShare({ clock, ...BESIDE_OTHERS, part: LONG_PART })
  }

  get length(): number {
    return this.#short.length + this.#laneCount
  }

  /** Returns the milliseconds until a job may begin; 0: now; infinite: after a hold. */
  get restMs(): number {
    if (this.#short.length > 0) return 0
    let least = Number.POSITIVE_INFINITY
    if (this.#held.size > 0) return least
    for (const [customer, { slow, waiting }] of this.#lanes) {
      const restMs = this.#restOf(customer)
      for (const [caller, [job]] of waiting) {
        least = Math.min(least, slow.has(caller) || job?.isLarge ? restMs : 0)
      }
    }
    return least
  }

  /** Lets long transactions begin at once: the database closes. */
  endRest(): void {
    this.#rests = false
  }

  add(job: J): void {
    const { customer, caller = customer } = job
    const lane = customer === undefined ? undefined : this.#findLane(customer)
    // Slow callers do not rest for each other.
    const isSlow = lane !== undefined && (lane.slow.has(caller!) || job.isLarge)
    if (customer !== undefined && !isSlow) this.#share.note(customer)
    if (lane) this.#addToLane(lane, job)
    else this.#short.push(job)
  }

  /** Lets no transaction of a slow caller begin until `endHold` of the same job. */
  hold(job: J): void {
    this.#held.add(job)
  }

  endHold(job: J): void {
    this.#held.delete(job)
  }

  /** Returns jobs to the front, and the turn to them: they were taken before. */
  restore(jobs: readonly J[]): void {
    this.#isTurnOfLanes = false
    this.#short.unshift(...jobs)
  }

  /** Begins a batch. Returns a function that returns the next job of the batch. */
  begin(): () => J | undefined {
    if (this.#held.size > 0) return () => this.#short.shift()
    const isTurn = this.#isTurnOfLanes || this.#short.length === 0
    this.#isTurnOfLanes = true
    if (!isTurn) return () => this.#short.shift()
    const first = this.#takeTurn(true)
    if (first?.isSlow) this.#isTurnOfLanes = false
    let job = first?.job
    return () => {
      const next = job ?? (first?.isSlow ? undefined : this.#takeShort())
      job = undefined
      return next
    }
  }

  /** Notes how long a transaction took, with its part of the commit, and whether it was long. */
  note({ customer, caller = customer }: J, ms: number, isLong = ms >= LONG_MS): void {
    // Other writes that waited for it wait for no second one.
    if (isLong) this.#isTurnOfLanes = false
    if (customer === undefined || caller === undefined) return
    if (!isLong) {
      this.#findLane(customer, caller)
      return
    }
    this.#share.addWork(customer, ms)
    const { slow } = this.#findLane(customer) ?? this.#createLane(customer)
    slow.delete(caller)
    slow.set(caller, this.#clock.elapsedMs())
  }

  /** Removes and returns all jobs. */
  clear(): J[] {
    const jobs = this.#short
    for (const { waiting } of this.#lanes.values()) jobs.push(...[...waiting.values()].flat())
    this.#short = []
    this.#lanes.clear()
    this.#laneCount = 0
    return jobs
  }

  /** Returns the lane of a customer that has slow callers other than `quick`, or several. */
  #findLane(customer: TurnKey, quick?: TurnKey): SlowCustomer<J> | undefined {
    const lane = this.#lanes.get(customer)
    if (!lane) return undefined
    const { slow, waiting } = lane
    const fromMs = this.#clock.elapsedMs() - SLOW_MS
    for (const [caller, longMs] of slow) {
      if (longMs > fromMs) break
      slow.delete(caller)
    }
    if (quick !== undefined && slow.size === 1) slow.delete(quick)
    if (slow.size > 0) return lane
    this.#lanes.delete(customer)
    const jobs = [...waiting.values()].flat()
    this.#laneCount -= jobs.length
    this.#short.push(...jobs)
    return undefined
  }

  #createLane(customer: TurnKey): SlowCustomer<J> {
    for (const other of this.#lanes.keys()) this.#findLane(other)
    const lane: SlowCustomer<J> = { slow: new Map(), waiting: new Map() }
    this.#lanes.set(customer, lane)
    const jobs = this.#short
    this.#short = []
    for (const job of jobs) {
      if (job.customer === customer) this.#addToLane(lane, job)
      else this.#short.push(job)
    }
    return lane
  }

  #addToLane({ waiting }: SlowCustomer<J>, job: J): void {
    const caller = (job.caller ?? job.customer)!
    const jobs = waiting.get(caller)
    if (jobs) jobs.push(job)
    else waiting.set(caller, [job])
    this.#laneCount += 1
  }

  #restOf(customer: TurnKey): number {
    return this.#rests ? this.#share.restMs(customer) : 0
  }

  /** Returns the next job of a batch of short ones. */
  #takeShort(): J | undefined {
    return this.#short.shift() ?? this.#takeTurn(false)?.job
  }

  /**
   * Returns the next job of a customer that has slow callers. Undefined if none may begin, or if it
   * is the turn of a slow caller and `mayBeSlow` is false: such a job has a batch of its own.
   */
  #takeTurn(mayBeSlow: boolean): { job: J; isSlow: boolean } | undefined {
    const latestMs = this.#clock.elapsedMs() - WAIT_MAX_MS
    for (const [customer, lane] of this.#lanes) {
      const isResting = this.#restOf(customer) > 0
      for (const [caller, jobs] of lane.waiting) {
        const isSlow = lane.slow.has(caller) || jobs[0]!.isLarge === true
        if (isSlow && isResting) continue
        if (isSlow && !mayBeSlow) return undefined
        const job = jobs.shift()!
        this.#laneCount -= 1
        lane.waiting.delete(caller)
        if (jobs.length > 0) lane.waiting.set(caller, jobs)
        if (!isSlow || job.sinceMs >= latestMs) {
          this.#lanes.delete(customer)
          this.#lanes.set(customer, lane)
          return { job, isSlow }
        }
        job.reject(overloadFailure())
      }
    }
    return undefined
  }
}
