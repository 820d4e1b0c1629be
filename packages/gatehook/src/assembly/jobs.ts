/** Assembles background work of the service: the queue of this node, its lane, its routes. */

import type { Catalog } from '../declare/resources/catalog.ts'
import { createJobHandlers } from '../declare/resources/job-handlers.ts'
import { type AnswerRequests, createStepAnswers } from '../declare/resources/step-answers.ts'
import { createRequestJob } from '../declare/resources/step-routes.ts'
import { createStoredRequests, type StoredRequest } from '../declare/resources/stored-requests.ts'
import type { RecordEvent } from '../history/events/store.ts'
import { isHeld } from '../operate/restore/state.ts'
import { CHANNEL, JOBS_DUE } from '../outbound/deliveries/wake-up.ts'
import { jobRoutes } from '../outbound/jobs/routes.ts'
import type { Transport } from '../outbound/transport/transport.ts'
import { repairPostponedJobs } from '../platform/jobs/clock-repair.ts'
import { createJobQueue, type JobQueue } from '../platform/jobs/queue.ts'
import { purgeJobs } from '../platform/jobs/retention.ts'
import type { Tx } from '../platform/storage/database.ts'
import type { Call } from '../protocol/http/call.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import type { Lister } from '../protocol/lists/list.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane, type JobLane } from './job-lane.ts'

export interface JobAssembly {
  readonly catalog: Catalog
  readonly record: RecordEvent
  readonly queue: JobQueue
  readonly list: Lister
  readonly perform: Perform
  readonly transport: Pick<Transport, 'guardedFetch'>
  /** Runs in the transaction that stores a request to a route with steps. */
  readonly recordChange: (tx: Tx, call: Call) => Promise<void>
}

export interface JobsModule extends Pick<JobLane, 'openSchedules' | 'runDue'> {
  /** The lanes of the service, and the routes. */
  readonly components: readonly Component[]
  readonly answerSteps: AnswerRequests
  /** `fetch` of own code. */
  readonly fetch: typeof fetch
}

/** Creates the queue of this node. */
export function assembleQueue({
  db,
  clock,
  random,
  log,
}: Pick<Foundation, 'db' | 'clock' | 'random' | 'log'>): JobQueue {
  let isNotifying = false
  const notify = () => {
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
  return createJobQueue({ clock, random, notify })
}

/** Nodes that send webhooks run the jobs of the service (§2.5). */
export function assembleJobs(
  foundation: Foundation,
  { catalog, record, queue, list, perform, transport, recordChange }: JobAssembly,
): JobsModule {
  const { db, clock, random, trail } = foundation
  const { enqueue } = queue
  const deps = { ...foundation, record, enqueue, fetch: transport.guardedFetch }
  const handlers = createJobHandlers(catalog, deps)
  const service = createJobLane(foundation, { lane: 'service', handlers, queue, isOutward: true })
  const requests = createStoredRequests(foundation)
  const received = new Map<string, StoredRequest>()
  const own = { ...deps, requests, received }
  const requestLane = createJobLane(foundation, {
    lane: 'request',
    handlers: catalog.service.routes
      .filter(({ steps }) => steps)
      .map((route) => createRequestJob(catalog, own, route)),
    queue,
    isOutward: true,
  })
  const recurring = handlers.flatMap(({ name, schedule }) => (schedule ? [name] : []))
  const routes: Component = {
    routes: jobRoutes({ db, clock, random, trail, list, perform, wake: queue.wake }),
    chores: {
      jobs: () => purgeJobs(db, clock, recurring, foundation.restore.heldUntil()),
      postponed_jobs: () => repairPostponedJobs(db, clock, handlers),
    },
  }
  return {
    fetch: transport.guardedFetch,
    openSchedules: service.openSchedules,
    runDue: async () => [...(await service.runDue()), ...(await requestLane.runDue())],
    components: [routes, service.component, requestLane.component],
    answerSteps: createStepAnswers(catalog, {
      ...own,
      lane: requestLane,
      isHeld: () => isHeld(foundation.restore.current()),
      recordChange,
    }),
  }
}
