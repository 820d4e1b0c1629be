/** The part of events: lists, what existing backends post, the stream. */
import type { Identify } from '../access/authenticate.ts'
import type { Bell } from '../events/bell.ts'
import { createFeed } from '../events/feed.ts'
import { type EventDeps, eventEndpoints } from '../events/routes.ts'
import { streamEndpoint } from '../events/stream.ts'
import type { Ground, Part } from './ground.ts'

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
