/** An event, and its body for clients and receivers (reference, "Webhook event"). Pure. */
import { modeOf, type Scope } from '../../kernel/principal.ts'

/** An event before it is stored. */
export interface NewEvent {
  readonly type: string
  /** The collection of the object; undefined for engine and external events. */
  readonly collection: string | undefined
  readonly objectId: number | string | undefined
  /** JSON text of the object in the newest shape. */
  readonly object: string
  /** The id of the person whose request caused an event without a row. */
  readonly subject?: string | undefined
}

export interface StoredEvent extends NewEvent {
  readonly scope: Scope
  readonly id: string
  /** The version of the object's shape: the newest when the event was recorded. */
  readonly shape: string
  /** Unix seconds. */
  readonly created: number
  /** Of an event that SQL emitted: when a node recorded it, in milliseconds. */
  readonly recordedMs?: number | undefined
}

/** A stored object, and the facts on which its conversion depends. */
export interface RecordedObject {
  readonly type: string
  readonly collection: string | null | undefined
  readonly object: string
  /** The version that recorded it. */
  readonly shape: string
  /** Unix seconds; undefined: the declaration of today has created the object. */
  readonly created?: number | undefined
}

/** Renders an object in the shape of `version`; returns JSON text (§9.11). */
export type RenderObject = (recorded: RecordedObject, version: string | undefined) => string

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
