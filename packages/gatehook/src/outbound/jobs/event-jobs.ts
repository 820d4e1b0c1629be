/** The jobs that handle events, enqueued in the transaction of the event (§9.11). */
import type { Sink } from '../../history/events/store.ts'
import type { EnqueueJob } from '../../platform/jobs/queue.ts'

/** The names of the handlers of each event type. */
export type EventHandlers = Readonly<Record<string, readonly string[]>>

/** A sink of the recorder: enqueues a job for each handler of an event (§9.11). */
export const createEventJobs =
  (handlers: EventHandlers, enqueue: EnqueueJob): Sink =>
  async (tx, { type, scope, id, collection, objectId }) => {
    if (!Object.hasOwn(handlers, type)) return
    for (const name of handlers[type]!) {
      const row = objectId === undefined ? undefined : `${scope} ${collection} ${objectId} ${name}`
      const input = JSON.stringify({ event_id: id })
      await enqueue(tx, { kind: 'event', name, scope, input, rowKey: row })
    }
  }
