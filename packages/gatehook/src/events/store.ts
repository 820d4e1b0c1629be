/** SQL of events. Recording happens in the transaction of what happened (§6.5), never after it. */
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { createIdSequence } from '../kernel/id.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { EVENT_MAX_BYTES, type NewEvent, type StoredEvent } from './event.ts'

/**
 * Called in the event's own transaction: what must happen with it, happens with it or not at all.
 */
export type Sink = (tx: Tx, event: StoredEvent) => Promise<void>

export type RecordEvent = (tx: Tx, scope: Scope, event: NewEvent) => Promise<StoredEvent>

const insert = fixed(
  `INSERT INTO gh_events (scope, id, type, collection, object_id, shape, object, created)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
)

export interface RecorderOptions {
  readonly clock: Clock
  readonly random: Random
  /** The newest version, whose shape objects are recorded in. */
  readonly shape: string
  readonly sinks: readonly Sink[]
}

/** Throws `payload_too_large` for an object beyond 256 KiB (§9.12). */
export function createRecorder({ clock, random, shape, sinks }: RecorderOptions): RecordEvent {
  const nextId = createIdSequence('evt_', random)
  return async (tx, scope, event) => {
    // UTF-8 takes at most three bytes a UTF-16 unit: most objects need no counting.
    const large = event.object.length * 3 > EVENT_MAX_BYTES
    if (large && Buffer.byteLength(event.object) > EVENT_MAX_BYTES) {
      throw new Failure('payload_too_large', 'The event of this change would exceed 256 KiB.')
    }
    const now = clock.now()
    const stored: StoredEvent = {
      ...event,
      scope,
      id: nextId(now),
      shape,
      created: Math.floor(now / 1000),
    }
    await tx.run(
      insert([
        scope,
        stored.id,
        event.type,
        event.collection ?? null,
        event.objectId ?? null,
        shape,
        event.object,
        stored.created,
      ]),
    )
    for (const sink of sinks) await sink(tx, stored)
    return stored
  }
}
