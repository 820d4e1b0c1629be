/** Assembles background work of the service: the runner of this node, its routes and figures. */

import type { Catalog } from '../declare/resources/catalog.ts'
import { createJobHandlers } from '../declare/resources/job-handlers.ts'
import type { RecordEvent } from '../history/events/store.ts'
import { CHANNEL, JOBS_DUE } from '../outbound/deliveries/wake-up.ts'
import { jobRoutes } from '../outbound/jobs/routes.ts'
import { runDueJobs } from '../platform/jobs/due-jobs.ts'
import { createEnqueue, type EnqueueJob } from '../platform/jobs/queue.ts'
import { purgeJobs } from '../platform/jobs/retention.ts'
import { type JobFigures, type JobRunner, NodeJobRunner } from '../platform/jobs/runner.ts'
import { type JobLoop, startJobLoop } from '../platform/jobs/runner-worker.ts'
import { gauge, type Metric } from '../platform/telemetry/metric.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Component, Foundation } from './foundation.ts'
import type { LateCalls } from './late-calls.ts'

/** A draining node waits this long for running jobs (§2.4). */
const DRAIN_LIMIT_MS = 9_000

export interface JobAssembly {
  readonly catalog: Catalog
  readonly record: RecordEvent
  readonly enqueue: EnqueueJob
  readonly list: Lister
  readonly perform: Perform
}

export interface JobsComponent extends Component {
  /** Has the runner read the due jobs. */
  readonly wake: () => void
  /** Stores the next run of each recurring job, without background work. */
  readonly openSchedules: () => Promise<void>
  /** Runs jobs until none is due, without background work. Returns the attempts. */
  readonly runDue: () => Promise<JobFigures['attempts']>
}

export const assembleEnqueue = (
  { clock, random }: Pick<Foundation, 'clock' | 'random'>,
  { wakeJobs }: LateCalls,
): EnqueueJob => createEnqueue({ clock, random, wake: wakeJobs })

/** Nodes that send webhooks run jobs (§2.5). A service without jobs runs no statement. */
export function assembleJobs(
  { db, clock, random, log, trail, delivers = true }: Foundation,
  { catalog, record, enqueue, list, perform }: JobAssembly,
): JobsComponent {
  const handlers = createJobHandlers(catalog, { db, clock, record })
  const isDeclared = handlers.length > 0
  let runner: JobRunner | undefined
  let loop: JobLoop | undefined
  const createRunner = (nudge: () => void) =>
    new NodeJobRunner({ db, clock, random, log, enqueue, handlers, nudge })
  const nudge = () => loop?.nudge()
  let isNotifying = false
  const notifyRunners = () => {
    if (isNotifying) return
    isNotifying = true
    // One message serves all transactions that commit in this turn of the event loop.
    setImmediate(() => {
      isNotifying = false
      db.notify(CHANNEL, JOBS_DUE).catch((error: unknown) =>
        log.debug({ err: error }, 'other nodes were not notified; their polls find the jobs'),
      )
    })
  }
  const wake = () => {
    if (!isDeclared) return
    if (!delivers) return notifyRunners()
    runner?.wake()
    setImmediate(nudge)
  }
  return {
    wake,
    openSchedules: async () => {
      if (isDeclared) await createRunner(() => {}).openSchedules()
    },
    runDue: async () => (isDeclared ? runDueJobs(createRunner) : []),
    routes: jobRoutes({ db, clock, random, trail, list, perform, wake }),
    ...(isDeclared && {
      chores: { jobs: () => purgeJobs(db, clock) },
      metrics: jobMetrics(() => runner?.figures() ?? { running: 0, attempts: [] }),
    }),
    isOutward: true,
    get polled() {
      return runner?.polled ?? []
    },
    async start() {
      if (!isDeclared || !delivers) return
      runner = createRunner(nudge)
      loop = startJobLoop(runner, { clock, log })
    },
    async drain() {
      await loop?.stop()
      await runner
        ?.drain(DRAIN_LIMIT_MS)
        .catch((err: unknown) =>
          log.warn({ err }, 'jobs could not be returned; another node takes them over'),
        )
      runner = undefined
      loop = undefined
    },
  }
}

const jobMetrics = (figures: () => JobFigures): readonly Metric[] => [
  gauge('gatehook_jobs_running', 'Jobs that this node runs.', () => figures().running),
  {
    name: 'gatehook_job_attempts_total',
    help: 'Attempts at jobs by job and outcome: done, retried, failed, interrupted.',
    type: 'counter',
    read: () =>
      figures().attempts.map(({ job, outcome, count }) => ({
        value: count,
        labels: { job, outcome },
      })),
  },
]
