/** Assembles one lane of the queue: its runner on this node, and what a component has of it. */

import { findCustomerOf } from '../identity/access/customer-reader.ts'
import type { Scope } from '../kernel/principal.ts'
import { runDueJobs } from '../platform/jobs/due-jobs.ts'
import { type JobHandler, LANES, type Lane } from '../platform/jobs/job.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import {
  type ClaimNow,
  type JobFigures,
  type JobRunner,
  NodeJobRunner,
} from '../platform/jobs/runner.ts'
import { type JobLoop, startJobLoop } from '../platform/jobs/runner-worker.ts'
import type { Metric } from '../platform/telemetry/metric.ts'
import type { Component, Foundation } from './foundation.ts'

/** A draining node waits this long for running jobs (§2.4). */
const DRAIN_LIMIT_MS = 9_000

export interface JobLane extends Pick<JobRunner, 'begin' | 'endOf'> {
  /** Its runner; a node that does not send runs no lane of work that leaves the machine (§2.5). */
  readonly component: Component
  /** Stores the next run of each recurring job, without background work. */
  readonly openSchedules: () => Promise<void>
  /** Runs jobs until none is due, without background work. Returns the attempts. */
  readonly runDue: () => Promise<JobFigures['attempts']>
}

interface LaneAssembly {
  readonly lane: Lane
  readonly handlers: readonly JobHandler[]
  readonly queue: JobQueue
  readonly isOutward?: boolean
  /** How long a draining node waits for running jobs. */
  readonly drainLimitMs?: number
}

/** A lane without handlers runs no statement. */
export function createJobLane(
  { db, clock, random, log, delivers = true }: Foundation,
  { lane, handlers, queue, isOutward = false, drainLimitMs = DRAIN_LIMIT_MS }: LaneAssembly,
): JobLane {
  const findCustomer = (scope: Scope) => findCustomerOf(db, scope)
  const deps = { db, clock, random, log, lane, handlers, findCustomer, enqueue: queue.enqueue }
  const createRunner = (nudge: () => void) => new NodeJobRunner({ ...deps, nudge, isAwaited: true })
  const isEmpty = handlers.length === 0
  const claims = !isOutward || delivers
  let runner: JobRunner | undefined
  let loop: JobLoop | undefined
  const nudge = () => loop?.nudge()
  /** Requests begin jobs also where no background work runs. */
  const current = () => {
    runner ??= new NodeJobRunner({ ...deps, nudge, claims })
    return runner
  }
  const manual = {
    openSchedules: async () => {
      if (!isEmpty) await createRunner(() => {}).openSchedules()
    },
    runDue: async () => (isEmpty ? [] : runDueJobs(createRunner)),
    begin: (claim: ClaimNow) => current().begin(claim),
    endOf: (no: number) => runner?.endOf(no),
  }
  // A node that does not send keeps the jobs that its requests have begun.
  if (isEmpty || !(claims || lane === 'request')) return { ...manual, component: {} }
  const component: Component = {
    isOutward,
    runDue: manual.runDue,
    metrics: laneMetrics(lane, () => runner?.figures()),
    get polled() {
      return runner?.polled ?? []
    },
    start() {
      loop = startJobLoop(current(), { clock, log })
      queue.follow(lane, () => {
        runner?.wake()
        setImmediate(nudge)
      })
    },
    async drain() {
      queue.follow(lane, undefined)
      await loop?.stop()
      await runner
        ?.drain(drainLimitMs)
        .catch((err: unknown) =>
          log.warn({ err }, 'jobs could not be returned; another node takes them over'),
        )
      runner = undefined
      loop = undefined
    },
  }
  return { ...manual, component }
}

const laneMetrics = (lane: Lane, figures: () => JobFigures | undefined): readonly Metric[] => [
  {
    name: 'gatehook_jobs_running',
    help: `Jobs that this node runs, by lane: ${Object.keys(LANES).join(', ')}.`,
    type: 'gauge',
    read: () => [{ value: figures()?.running ?? 0, labels: { lane } }],
  },
  {
    name: 'gatehook_job_longest_run_seconds',
    help: 'How long the job that this node runs for the longest time has run, by lane.',
    type: 'gauge',
    read: () => [{ value: (figures()?.longestMs ?? 0) / 1000, labels: { lane } }],
  },
  {
    name: 'gatehook_job_attempts_total',
    help: 'Attempts at jobs by kind and outcome: done, continued, retried, failed, interrupted.',
    type: 'counter',
    read: () =>
      (figures()?.attempts ?? []).map(({ count, ...labels }) => ({ value: count, labels })),
  },
]
