/** An event, and its body for clients and receivers (reference, "Webhook event"). Pure. */
import { modeOf, type Scope } from '../../kernel/principal.ts'
import type { RowId } from '../../kernel/row-id.ts'

/** An event before it is stored. */
export interface NewEvent {
  readonly type: string
  /** The collection of the object; undefined for engine and external events. */
  readonly collection: string | undefined
  readonly objectId: RowId | undefined
  /** JSON text of the object in the newest shape. */
  readonly object: string
}

export interface StoredEvent extends NewEvent {
  readonly scope: Scope
  readonly id: string
  /** The version of the object's shape: the newest when the event was recorded. */
  readonly shape: string
  /** Unix seconds. */
  readonly created: number
}

/** Renders an object, stored in `shape`, in the shape of `version`; returns JSON text (§9.11). */
export type RenderObject = (
  collection: string | undefined,
  object: string,
  shape: string,
  version: string | undefined,
) => string

export const EVENT_MAX_BYTES = 262_144

/** Returns the body of an event, with the members in the order of the reference. */
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
