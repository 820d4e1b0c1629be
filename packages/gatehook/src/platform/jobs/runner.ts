/**
 * Runs due jobs on this node: claims them, runs their code, stores the end of each attempt, and
 * takes over the jobs of failed nodes. `pass()` is one round; `runner-worker.ts` repeats it.
 */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Database, Tx } from '../storage/database.ts'
import { createHolderWatch } from '../storage/failed-holders.ts'
import type { PolledValue } from '../storage/shared-poll.ts'
import { type AttemptOutcome, type RunningAttempt, startAttempt } from './attempt.ts'
import { endAfter, handlerFor, logFailure } from './attempt-end.ts'
import {
  type ClaimedJob,
  type DueJob,
  isCustomerRun,
  type JobCustomer,
  type JobHandler,
  type JobKind,
  LANES,
  type Lane,
} from './job.ts'
import type { EnqueueJob } from './queue.ts'
import { createRecurring, withPassedTimes } from './recurring.ts'
import * as store from './store.ts'
import { JobTurns } from './turns.ts'

/** Time between heartbeats, and between looks at those of other nodes. */
export const HEARTBEAT_MS = 3_000
/** Another node takes a job over whose counter has not changed for this long. */
export const FAILED_AFTER_MS = 12_000
/** Without a heartbeat for this long, a node interrupts its jobs: others may have taken over. */
const UNSURE_AFTER_MS = 8_000

interface RunnerDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly enqueue: EnqueueJob
  readonly lane: Lane
  /** Returns the customer of a scope; undefined if it was deleted. */
  readonly findCustomer: (scope: Scope) => Promise<JobCustomer | undefined>
  /** Of kinds of the lane. */
  readonly handlers: readonly JobHandler[]
  /** Called when an attempt has ended: the next pass stores its end. */
  readonly nudge: () => void
  /** Whether the runner claims due jobs, besides those that requests begin. Default true. */
  readonly claims?: boolean
  /** Whether a caller waits for the ends of its jobs. Default false. */
  readonly isAwaited?: boolean
}

export interface BegunAttempt {
  /** Resolves when the end of the attempt is stored. */
  readonly ended: Promise<void>
}

/** Stores a job as one that this node runs, or claims it. Undefined: another request has it. */
export type ClaimNow = (
  tx: Tx,
  hold: { readonly node: string; readonly now: number },
) => Promise<DueJob | undefined>

export interface JobFigures {
  readonly running: number
  /** Of the attempt that runs for the longest time; 0 without one. */
  readonly longestMs: number
  /** Attempts since the start. */
  readonly attempts: readonly AttemptCount[]
}

export interface AttemptCount {
  readonly kind: JobKind
  readonly job: string
  /** `done`, `continued`, `retried`, `failed` or `interrupted`. */
  readonly outcome: string
  count: number
}

export interface JobRunner {
  /** Has the next pass read the due jobs. */
  wake(): void
  /** Says when the next job is due, and whether any runs, with each poll of the node. */
  readonly polled: readonly PolledValue[]
  /** Whether `pass` has work: something ended, a job or heartbeat is due, or `wake` was called. */
  isDue(): boolean
  pass(): Promise<void>
  /** Stores the next run of each recurring job, unless one waits. `pass` begins with it. */
  openSchedules(): Promise<void>
  /** Starts an attempt at a job now, for a request. Undefined: `claim` has found none. */
  begin(claim: ClaimNow): Promise<BegunAttempt | undefined>
  /** Resolves when the end of an attempt of this node is stored; undefined if there is none. */
  endOf(no: number): Promise<void> | undefined
  /** Starts no further jobs, waits for those that run, and interrupts them after `limitMs`. */
  drain(limitMs: number): Promise<void>
  figures(): JobFigures
}

interface AttemptEnd {
  readonly attempt: RunningAttempt
  readonly outcome: AttemptOutcome
}

export class NodeJobRunner implements JobRunner {
  readonly #deps: RunnerDeps
  readonly #node: string
  readonly #handlers: ReadonlyMap<string, JobHandler>
  readonly #running = new Map<number, RunningAttempt>()
  readonly #counts = new Map<string, AttemptCount>()
  readonly #findFailed: ReturnType<typeof createHolderWatch<number>>
  readonly #turns = new JobTurns()
  readonly #recurring: ReturnType<typeof createRecurring>
  /** Attempts that requests have begun: they use no place of the lane. */
  readonly #begun = new Set<RunningAttempt>()
  #beginning = 0
  /** Jobs of this node that it did not run at the last heartbeat. */
  #orphans: ReadonlySet<number> = new Set()
  #ended: AttemptEnd[] = []
  #storing: Promise<void> | undefined
  #areSchedulesOpen = false
  #isStopping = false
  #isAwake = true
  /** When the next job is due, as of the last poll and of the jobs that this node has stored. */
  #nextDueAt = Number.POSITIVE_INFINITY
  /** Whether a job after those that were due may be due before the next poll. */
  #isNextUnknown = false
  /** Whether any node runs a job, as of the last poll. */
  #isAnyRunning = true
  #isFirstPass = true
  #beatMs: number

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    this.#node = deps.random.bytes(12).toString('hex')
    this.#handlers = new Map(deps.handlers.map((handler) => [handler.name, handler]))
    this.#findFailed = createHolderWatch(deps.db, deps.clock, FAILED_AFTER_MS)
    this.#beatMs = deps.clock.elapsedMs()
    this.#recurring = createRecurring(deps, (dueAt) => this.#noteDue(dueAt))
  }

  readonly polled: readonly PolledValue[] = [
    {
      select: () => store.selectNextDue(this.#deps.lane, [...this.#handlers.keys()]),
      receive: (dueAt) => {
        this.#nextDueAt = dueAt === null ? Number.POSITIVE_INFINITY : Number(dueAt)
      },
    },
    {
      select: () => store.selectIsRunning(this.#deps.lane),
      receive: (isRunning) => {
        this.#isAnyRunning = isRunning !== 0
      },
    },
  ]

  wake(): void {
    this.#isAwake = true
  }

  isDue(): boolean {
    if (this.#ended.length > 0 || this.#isAwake || this.#isJobDue()) return true
    return this.#isBeatDue() && (this.#isAnyRunning || this.#running.size > 0)
  }

  async pass(): Promise<void> {
    await this.openSchedules()
    await this.#storeEnds()
    const isBeatDue = this.#isBeatDue()
    if (isBeatDue || this.#isFirstPass) await this.#renew()
    this.#isFirstPass = false
    if (!isBeatDue && (this.#isAwake || this.#isJobDue())) await this.#startDueJobs()
  }

  async drain(limitMs: number): Promise<void> {
    this.#isStopping = true
    const attempts = [...this.#running.values()]
    const timer = setTimeout(() => {
      for (const attempt of attempts) attempt.interrupt()
    }, limitMs)
    await Promise.all(attempts.map(({ outcome }) => outcome))
    clearTimeout(timer)
    await this.#storeEnds()
  }

  figures(): JobFigures {
    const durations = [...this.#running.values()].map(({ durationMs }) => durationMs())
    const longestMs = Math.max(0, ...durations)
    return { running: durations.length, longestMs, attempts: [...this.#counts.values()] }
  }

  #isJobDue(): boolean {
    return this.#nextDueAt <= this.#deps.clock.now()
  }

  #noteDue(dueAt: number): void {
    this.#nextDueAt = Math.min(this.#nextDueAt, dueAt)
  }

  #isBeatDue(): boolean {
    return this.#deps.clock.elapsedMs() - this.#beatMs >= HEARTBEAT_MS
  }

  async openSchedules(): Promise<void> {
    if (this.#areSchedulesOpen) return
    for (const handler of this.#handlers.values()) {
      if (handler.schedule) await this.#deps.db.write((tx) => this.#recurring.open(tx, handler))
    }
    this.#areSchedulesOpen = true
  }

  async #startDueJobs(): Promise<void> {
    const { db, clock, lane } = this.#deps
    const limit =
      this.#deps.claims === false ? 0 : LANES[lane] - this.#running.size + this.#begun.size
    this.#isAwake = false
    const now = clock.now()
    if (this.#isJobDue()) {
      this.#nextDueAt = Number.POSITIVE_INFINITY
      this.#isNextUnknown = true
    }
    if (this.#isStopping || limit <= 0) return
    const names = [...this.#handlers.keys()]
    const due = await this.#turns.select(db, { lane, names, now, limit })
    if (due.length > 0) await this.#claim(due, now)
    if (due.length === limit) this.#isAwake = true
    else if (this.#isNextUnknown) {
      this.#isNextUnknown = false
      // Due jobs that no pass can start wait for one of their row, whose end wakes the runner.
      const dueAt = await store.readNextDue(db, { lane, names, now })
      if (dueAt !== null) this.#noteDue(Number(dueAt))
    }
  }

  async #claim(due: readonly DueJob[], now: number): Promise<void> {
    const current = await Promise.all(due.map((job) => this.#complete(job, now)))
    const claimed = await this.#deps.db.write(async (tx) => {
      const jobs: ClaimedJob[] = []
      // In one order on all nodes: they wait for each other's rows.
      for (const job of current.toSorted((a, b) => a.no - b.no)) {
        if (await store.claimJob(tx, job, { node: this.#node, now })) jobs.push(job)
      }
      return jobs
    })
    for (const job of claimed) this.#start(job)
  }

  /** Adds what an attempt needs beside the row: its customer, and the due times it serves. */
  async #complete(job: DueJob, now: number): Promise<ClaimedJob> {
    const { scope } = job
    const customer = scope === null ? undefined : await this.#deps.findCustomer(scope)
    const isDeleted = scope !== null && customer?.deleting_since !== null
    const due = await withPassedTimes(this.#deps.db, this.#handlers.get(job.name)!, job, now)
    const { isAwaited = false } = this.#deps
    return { ...due, customer: customer?.id, isDeleted, node: this.#node, isAwaited }
  }

  async begin(claim: ClaimNow): Promise<BegunAttempt | undefined> {
    if (this.#isStopping) throw new Failure('shutting_down')
    const { db, clock } = this.#deps
    const now = clock.now()
    this.#beginning++
    try {
      const job = await db.write((tx) => claim(tx, { node: this.#node, now }))
      if (!job) return undefined
      const attempt = this.#start(await this.#complete(job, now))
      this.#begun.add(attempt)
      return { ended: this.#endOf(attempt) }
    } finally {
      this.#beginning--
    }
  }

  endOf(no: number): Promise<void> | undefined {
    const attempt = this.#running.get(no)
    return attempt && this.#endOf(attempt)
  }

  async #endOf(attempt: RunningAttempt): Promise<void> {
    await attempt.outcome
    while (this.#running.get(attempt.job.no) === attempt) await this.#storeEnds()
  }

  #start(job: ClaimedJob): RunningAttempt {
    const { clock } = this.#deps
    // A node without jobs sends no heartbeat; the claim of the first one is one.
    if (this.#running.size === 0) this.#beatMs = clock.elapsedMs()
    const handler = this.#handlers.get(job.name)!
    const attempt = startAttempt(handlerFor(job, handler), job, clock)
    this.#running.set(job.no, attempt)
    void attempt.outcome.then((outcome) => {
      this.#ended.push({ attempt, outcome })
      this.#deps.nudge()
    })
    return attempt
  }

  /** Stores the ends of attempts; those that the database rejects remain for the next pass. */
  #storeEnds(): Promise<void> {
    this.#storing ??= this.#storeEach().finally(() => {
      this.#storing = undefined
    })
    return this.#storing
  }

  async #storeEach(): Promise<void> {
    while (this.#ended.length > 0) {
      const end = this.#ended[0]!
      await this.#storeEnd(end)
      this.#ended.shift()
      const { no } = end.attempt.job
      // This node may have claimed the job again, after another one released it.
      if (this.#running.get(no) === end.attempt) this.#running.delete(no)
      this.#begun.delete(end.attempt)
      this.#isAwake = true
    }
  }

  async #storeEnd({ attempt, outcome }: AttemptEnd): Promise<void> {
    const { db, clock, log } = this.#deps
    const { job } = attempt
    const now = clock.now()
    const end = endAfter(attempt, outcome, this.#deps)
    const hold = { node: this.#node, now }
    const isStored = await db.write((tx) => this.#recurring.endAttempt(tx, attempt, end, hold))
    if ('runAt' in end) this.#noteDue(end.runAt)
    const label = outcome.kind === 'failed' && end.state === 'waiting' ? 'retried' : outcome.kind
    this.#count(job, label)
    const line = {
      job: job.name,
      job_id: job.id,
      attempt: job.attempt,
      outcome: label,
      took_ms: attempt.durationMs(),
      ...(job.customer !== undefined && { customer: job.customer }),
      ...(end.state === 'waiting' && { retry_at: isoTime(end.runAt) }),
    }
    if (!isStored) log.warn(line, 'another node has taken this job over; its end is not stored')
    else if (outcome.kind === 'continued' || (outcome.kind === 'done' && isCustomerRun(job)))
      log.debug(line, 'job')
    else if (outcome.kind !== 'failed') log.info(line, 'job')
    else logFailure(log, job, line, outcome.cause)
  }

  /** Renews this node's hold of its jobs, and takes over those of failed nodes. */
  async #renew(): Promise<void> {
    const { db, clock, log } = this.#deps
    const nowMs = clock.elapsedMs()
    if (nowMs - this.#beatMs >= UNSURE_AFTER_MS && this.#running.size > 0) {
      log.warn('the heartbeat of this node was late: its jobs end')
      for (const attempt of this.#running.values()) attempt.abort('another node may run this job')
    }
    if (this.#running.size > 0)
      await db.write((tx) => store.beatJobs(tx, this.#node), { single: true })
    this.#beatMs = nowMs
    const running = [...this.#running]
    const rows = await store.readRunningJobs(db, this.#deps.lane)
    const others = rows.filter(({ node }) => node !== this.#node)
    const failed = new Set(this.#findFailed(others.map(({ no, heartbeat }) => [no, heartbeat])))
    const mine = rows.filter(({ node }) => node === this.#node)
    this.#isAnyRunning = rows.length > 0
    const heldNos = new Set(mine.map(({ no }) => no))
    for (const [no, attempt] of running) {
      if (!heldNos.has(no)) attempt.abort('another node runs this job')
    }
    // The response to a claim was lost with its connection, or a request begins the job just now.
    const idle = mine.filter(({ no }) => !this.#running.has(no))
    const orphans = idle.filter(({ no }) => this.#beginning === 0 || this.#orphans.has(no))
    this.#orphans = new Set(idle.map(({ no }) => no))
    for (const row of [...others.filter(({ no }) => failed.has(no)), ...orphans]) {
      await this.#takeOver(row)
    }
  }

  async #takeOver(row: { no: number; heartbeat: number; node: string }): Promise<void> {
    const { db, log } = this.#deps
    const count = await db.write((tx) =>
      store.releaseJob(tx, row, 'The node that ran this job ended or did not respond.'),
    )
    const members = { failed_node: row.node, job_no: row.no }
    if (count > 0) log.warn(members, 'took over a job of a failed node')
    this.#isAwake = true
  }

  #count({ kind, name: job }: ClaimedJob, outcome: string): void {
    const key = `${kind} ${job} ${outcome}`
    const entry = this.#counts.get(key) ?? { kind, job, outcome, count: 0 }
    entry.count += 1
    this.#counts.set(key, entry)
  }
}
