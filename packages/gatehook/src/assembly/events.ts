/** The part of events: lists, what existing backends post, the stream. */
import type { Identify } from '../access/authenticate.ts'
import { createOutbox } from '../deliveries/outbox.ts'
import { type Bell, createBell } from '../events/bell.ts'
import { readableTypes } from '../events/event-access.ts'
import { createFeed } from '../events/feed.ts'
import { type EventDeps, eventEndpoints } from '../events/routes.ts'
import { createRecorder, type Sink } from '../events/store.ts'
import { streamEndpoint } from '../events/stream.ts'
import type { Principal, Scope } from '../kernel/principal.ts'
import { createCatalog, newestOf } from '../resources/catalog.ts'
import { eventTypesOf } from '../resources/event-types.ts'
import type { Credentials } from '../resources/rows.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import type { Ground, Part } from './ground.ts'

/**
 * What happens, and who is told in the same transaction: the bell of the streams, the outbox of the
 * deliveries.
 */
export function happeningOf(
  { clock, random, db }: Ground,
  service: ServiceDefinition,
  credentials: Credentials | undefined,
  publicScope: Scope,
) {
  const bell = createBell()
  const sinks: Sink[] = [bell.sink]
  const record = createRecorder({ clock, random, shape: newestOf(service), sinks })
  const { counterSlots } = db.dialect
  const facts = { clock, record, counterSlots, credentials, publicScope }
  const catalog = createCatalog(service, facts)
  /** Which version stands for a retired one (§9.11): the room of versions says so, once open. */
  const ends = { living: (version: string) => version }
  const effective = (version: string) => ends.living(version)
  /** Who sends is made later, and may stand on another node. */
  const sender = { wake: (_webhookNos: readonly number[]) => {} }
  const wake = (webhookNos: readonly number[]) => sender.wake(webhookNos)
  const types = eventTypesOf(catalog, clock)
  const { coveredBy } = types
  sinks.push(createOutbox({ clock, render: catalog.render, effective, coveredBy, wake }))
  const readable = (principal: Principal) => readableTypes(types, principal)
  return {
    ...{ bell, record, catalog, types, readableTypes: readable },
    ...{ ends, effective, sender, wake },
  }
}

export interface EventPartDeps extends Omit<EventDeps, 'db'> {
  readonly bell: Bell
  readonly identify: Identify
}

export function eventPart({ db, log, clock }: Ground, deps: EventPartDeps): Part {
  const feed = createFeed(db)
  const elapsedMs = () => clock.elapsedMs()
  return {
    endpoints: [
      ...eventEndpoints({ ...deps, db }),
      streamEndpoint({ ...deps, feed, elapsedMs, log }),
    ],
  }
}
