/** Assembles background work of the service: the queue of this node, its lane, its routes. */

import type { Catalog } from '../declare/resources/catalog.ts'
import { createJobHandlers } from '../declare/resources/job-handlers.ts'
import type { RecordEvent } from '../history/events/store.ts'
import { CHANNEL, JOBS_DUE } from '../outbound/deliveries/wake-up.ts'
import { jobRoutes } from '../outbound/jobs/routes.ts'
import { createJobQueue, type JobQueue } from '../platform/jobs/queue.ts'
import { purgeJobs } from '../platform/jobs/retention.ts'
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
}

export interface JobsModule extends JobLane {
  readonly routes: Component
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
  { catalog, record, queue, list, perform }: JobAssembly,
): JobsModule {
  const { db, clock, random, trail } = foundation
  const handlers = createJobHandlers(catalog, { db, clock, record })
  return {
    ...createJobLane(foundation, { lane: 'service', handlers, queue, isOutward: true }),
    routes: {
      routes: jobRoutes({ db, clock, random, trail, list, perform, wake: queue.wake }),
      chores: { jobs: () => purgeJobs(db, clock) },
    },
  }
}
