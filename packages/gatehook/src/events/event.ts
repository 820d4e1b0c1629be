/** The event as clients and receivers see it (reference, "Webhook event"). Pure. */
import { modeOf, type Scope } from '../kernel/principal.ts'

/** What happened, before it is stored. */
export interface NewEvent {
  readonly type: string
  /** The collection the object belongs to; undefined for events of no resource. */
  readonly collection: string | undefined
  readonly objectId: number | undefined
  /** JSON text of the object in the newest shape. */
  readonly object: string
}

export interface StoredEvent extends NewEvent {
  readonly scope: Scope
  readonly id: string
  /** The version whose shape `object` has: the newest when the event was recorded. */
  readonly shape: string
  /** Unix seconds. */
  readonly created: number
}

/** JSON text of an object stored in `shape`, as `version` shows it (§9.11). */
export type RenderObject = (
  collection: string | undefined,
  object: string,
  shape: string,
  version: string | undefined,
) => string

export const EVENT_MAX_BYTES = 262_144

/** The body: the members of the reference, in its order. `object` is JSON text. */
export function envelope(
  event: Pick<StoredEvent, 'id' | 'type' | 'created' | 'scope'>,
  object: string,
): string {
  const livemode = modeOf(event.scope) === 'live'
  return (
    `{"id":"${event.id}","type":"${event.type}","created":${event.created},` +
    `"livemode":${livemode},"data":{"object":${object}}}`
  )
}
