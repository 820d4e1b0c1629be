/** Assembles the jobs that work on tables in use: the rest of a start, beside requests. */
import { createRefillHandlers, requestRefills } from '../declare/resources/refills.ts'
import { BATCH_REST } from '../kernel/pace.ts'
import { enqueueNamed, type JobQueue } from '../platform/jobs/queue.ts'
import type { Component, Foundation } from './foundation.ts'
import { createJobLane } from './job-lane.ts'
import type { PreparedDatabase } from './prepare-database.ts'

/** The components start when the registry has this node, and before it serves. */
export async function assembleTableWork(
  foundation: Foundation,
  { service, indexes }: Pick<PreparedDatabase, 'service' | 'indexes'>,
  { queue }: { readonly queue: JobQueue },
): Promise<readonly Component[]> {
  const { db, clock, fillsRows = true } = foundation
  const { enqueue } = queue
  const createFillLane = (rest: number) => {
    const handlers = createRefillHandlers({ ...foundation, service, rest })
    return createJobLane(foundation, { lane: 'fill', handlers, queue })
  }
  const { atStart } = db.dialect.splitWork(fillsRows ? [createFillLane(0)] : [])
  for (const fillLane of atStart) await fillLane.runDue()
  const { handlers, polled } = indexes
  // A build continues in the database.
  const indexLane = createJobLane(foundation, { lane: 'index', handlers, queue, drainLimitMs: 0 })
  const start = async () => {
    await requestRefills(db, service.resources, { nowMs: clock.now(), enqueue })
    const names = handlers.map(({ name }) => name)
    if (names.length > 0) await db.write((tx) => enqueueNamed(tx, enqueue, 'index', names))
  }
  return [{ start, polled }, createFillLane(BATCH_REST).component, indexLane.component]
}
