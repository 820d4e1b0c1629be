/** Assembles events: the recorder with its sinks, the catalog that records, the endpoints. */

import { type Catalog, createCatalog, newestVersion } from '../declare/resources/catalog.ts'
import { listAllEventTypes, postedEventTypes } from '../declare/resources/event-type-list.ts'
import { createEventTypes, type ServiceEventTypes } from '../declare/resources/event-types.ts'
import { listEventHandlers } from '../declare/resources/job-handlers.ts'
import { createFeed, unorderedClock } from '../history/events/feed.ts'
import { noteRecentEvents } from '../history/events/lost-events.ts'
import { eventOperations } from '../history/events/operations.ts'
import { eventRoutes } from '../history/events/routes.ts'
import { createRecorder, type RecordEvent, type Sink } from '../history/events/store.ts'
import { createEventSignal, type EventSignal, streamRoute } from '../history/events/stream.ts'
import { traceEvents } from '../history/events/traced-event.ts'
import type { Administration } from '../identity/access/administration.ts'
import { createEndGivenAccess } from '../identity/people/operator-access.ts'
import type { Principal } from '../kernel/principal.ts'
import { createOutbox } from '../outbound/deliveries/outbox.ts'
import { customerWaker } from '../outbound/deliveries/registration-store.ts'
import { createEventJobs } from '../outbound/jobs/event-jobs.ts'
import { endPortalAccess } from '../pages/portal/store.ts'
import type { JobQueue } from '../platform/jobs/queue.ts'
import { createMailOutbox, type MailOutbox } from '../platform/mail/outbox.ts'
import type { Perform } from '../protocol/idempotency/perform.ts'
import { requestOf } from '../protocol/idempotency/transaction-request.ts'
import type { Lister } from '../protocol/lists/list.ts'
import { assembleEmissions } from './emissions.ts'
import type { Component, Foundation } from './foundation.ts'
import { assembleQueue } from './jobs.ts'
import type { LateCalls } from './late-calls.ts'
import { assembleCredentials } from './people.ts'
import type { PreparedDatabase } from './prepare-database.ts'

interface EventModules {
  /** Records events, and wakes deliveries. */
  readonly administration: Administration
  readonly queue: JobQueue
  readonly eventSignal: EventSignal
  readonly record: RecordEvent
  readonly catalog: Catalog
  readonly types: ServiceEventTypes
  /** The mail that changes of rows and requests of people enqueue. */
  readonly mailOutbox: MailOutbox
}

/** Creates the recorder of events with its sinks: streams, the delivery outbox, own handlers. */
export function assembleEvents(
  foundation: Foundation,
  { service, publicScope, indexes, administration, clockDifference }: PreparedDatabase,
  late: LateCalls,
): EventModules {
  const { clock, random, db, log, tracing, recent, tables } = foundation
  const eventSignal = createEventSignal()
  const outbox = createOutbox({
    clock,
    leadMs: clockDifference.leadMs,
    render: late.renderObject,
    effective: late.livingVersion,
    coveredBy: late.coveredBy,
    wake: late.wakeDeliveries,
  })
  const queue = assembleQueue(foundation)
  const { enqueue } = queue
  const mailOutbox = createMailOutbox(enqueue)
  const handlers = listEventHandlers(service)
  const sinks = [eventSignal.sink, noteRequest, noteRecentEvents(recent)]
  if (Object.keys(handlers).length > 0) sinks.push(createEventJobs(handlers, enqueue))
  const record = createRecorder({
    clock,
    random,
    shape: newestVersion(service),
    outbox,
    sinks,
    trace: tracing && traceEvents(tracing),
  })
  const catalog = createCatalog(service, {
    clock,
    random,
    record,
    log,
    database: db.name,
    tables,
    credentials: assembleCredentials(foundation, service, late, mailOutbox),
    publicScope,
    missingIndexes: indexes.missingIndexes,
    enqueue,
  })
  const types = createEventTypes(catalog, clock)
  return {
    administration: {
      ...administration,
      record,
      wakeDeliveriesOf: customerWaker(late.wakeDeliveries),
      endGivenAccess: createEndGivenAccess(endPortalAccess),
    },
    queue,
    eventSignal,
    record,
    catalog,
    types,
    mailOutbox,
  }
}

/** A sink of the recorder: notes the event with the request that caused it. */
const noteRequest: Sink = async (tx, { id }) => {
  const call = requestOf(tx)
  if (call) tx.afterCommit(() => call.eventIds.push(id))
}

export interface EventRouteAssembly extends Omit<EventModules, 'queue' | 'mailOutbox'> {
  readonly list: Lister
  readonly perform: Perform
  /** Returns the version that serves callers pinned to `version` now (§9.11). */
  readonly livingVersion: (version: string) => string
}

export function assembleEventRoutes(
  foundation: Foundation,
  { administration, record, catalog, list, perform, ...modules }: EventRouteAssembly,
): Component {
  const { config, db, log, clock } = foundation
  const { eventSignal, types, livingVersion } = modules
  const { render, service } = catalog
  const operations = eventOperations({
    types: listAllEventTypes(service),
    external: postedEventTypes(service),
  })
  const readable = (principal: Principal) => types.readableTypes(principal)
  const { mayRecordLate, ...emissions } = assembleEmissions(foundation, {
    catalog,
    record,
    audit: administration,
  })
  const isUnordered = () => config.testClock || mayRecordLate()
  const stream = streamRoute({
    operations,
    feed: createFeed(db, { now: () => (isUnordered() ? unorderedClock : clock).now() }),
    eventSignal,
    render,
    readableTypes: readable,
    effective: livingVersion,
    elapsedMs: () => clock.elapsedMs(),
    log,
  })
  const lists = eventRoutes({
    db,
    list,
    perform,
    record,
    render,
    readObject: catalog.readObject,
    readableTypes: readable,
    declaredTypes: types.collections.keys(),
    operations,
    effective: livingVersion,
  })
  return { routes: [...lists, stream], ...emissions }
}
