/** SQL of events. The change that an event describes and the event commit together (§6.5). */

import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { isoTime } from '../../kernel/time.ts'
import { budgetOf } from '../../platform/storage/change-budget.ts'
import { createCommitIds } from '../../platform/storage/commit-ids.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { BackupOptions } from '../../platform/storage/sqlite-backup.ts'
import { requestOf } from '../../protocol/idempotency/transaction-request.ts'
import { prepareEvent } from './by-id.ts'
import { collectorOf } from './collector.ts'
import { EVENT_MAX_BYTES, type NewEvent, type StoredEvent } from './event.ts'
import { lateEvents, type RecordedRange, readRecorded } from './recorded-range.ts'
import type { WaitingDelivery } from './waiting.ts'

/** Called with each event in its transaction: its effects commit with the event or not at all. */
export type Sink = (tx: Tx, event: StoredEvent) => Promise<void>

/** The part of an event that precedes its object. */
type EventStart = Pick<
  StoredEvent,
  'scope' | 'id' | 'type' | 'collection' | 'shape' | 'created' | 'recordedMs'
>

/** The result of the outbox for an event without its object. */
interface EarlyResult {
  /** The sink of the complete event; `trace` is its `traceparent`. */
  readonly sink: (tx: Tx, event: StoredEvent, trace: string | undefined) => Promise<void>
  /** The delivery that waits in the event. */
  readonly waiting?: WaitingDelivery | undefined
}

/** Called before the object of an event exists; undefined: the event has no deliveries. */
export type EarlySink = (tx: Tx, start: EventStart) => Promise<EarlyResult | undefined>

/** An event whose object does not exist yet, and the sink that waits for it. */
export interface AnnouncedEvent extends Partial<EarlyResult> {
  readonly start: EventStart
}

/** Records an event. `announced`: the result of `announce` in the same transaction. */
export interface RecordEvent {
  (tx: Tx, scope: Scope, event: NewEvent, announced?: AnnouncedEvent): Promise<StoredEvent>
  /** Runs the statements that need no object in the round trip of the change; default: `record`. */
  announce?(
    tx: Tx,
    scope: Scope,
    event: Pick<NewEvent, 'type' | 'collection'>,
    /** The id and the time of an event that another program has emitted. */
    origin?: { readonly id: string; readonly createdMs: number },
  ): Promise<AnnouncedEvent>
}

/** Throws for an event that feeds of its scope could miss: the transaction has promised another. */
function requireScope(tx: Tx, scope: Scope): void {
  if (tx.scope === undefined || tx.scope === scope) return
  throw new Error(`bug: an event of scope ${scope} in a transaction of scope ${tx.scope}`)
}

const insertionWith = (id: 'object_id' | 'object_key', more = '', values = '') =>
  prepareStatement(
    `INSERT INTO gh_events
     (scope, id, type, collection, ${id}, subject, shape, object, created, request_id, trace,
      recorded_at${more})
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?${values})`,
  )
/** By the column of the object's id: ids are numbers or texts. */
const insert = { number: insertionWith('object_id'), text: insertionWith('object_key') }
const WAITING = [', waits_for, waiting_id, waiting_version', ', ?, ?, ?'] as const
const insertWaiting = {
  number: insertionWith('object_id', ...WAITING),
  text: insertionWith('object_key', ...WAITING),
}

/** Returns the `traceparent` of an event's span; undefined outside of a trace. */
export type TraceEvent = (tx: Tx, event: StoredEvent) => string | undefined

interface RecorderOptions {
  readonly clock: Clock
  readonly random: Random
  /** The newest version: the shape of recorded objects. */
  readonly shape: string
  /** Inserts the deliveries of an event. */
  readonly outbox?: EarlySink
  readonly sinks: readonly Sink[]
  readonly trace?: TraceEvent | undefined
}

/** Creates the recorder. It throws `payload_too_large` for an object beyond 256 KiB (§9.12). */
export function createRecorder({
  clock,
  random,
  shape,
  outbox,
  sinks,
  trace,
}: RecorderOptions): RecordEvent {
  const nextId = createCommitIds('gh_events', 'evt_', random)
  const announce: NonNullable<RecordEvent['announce']> = async (
    tx,
    scope,
    { type, collection },
    origin,
  ) => {
    const now = origin?.createdMs ?? clock.now()
    const created = Math.floor(now / 1000)
    const id = origin?.id ?? (await nextId(tx, now))
    const recordedMs = origin && clock.now()
    const start = { scope, id, type, collection, shape, created, recordedMs }
    return { start, ...(await outbox?.(tx, start)) }
  }
  const record = async (
    tx: Tx,
    scope: Scope,
    event: NewEvent,
    announced?: AnnouncedEvent,
  ): Promise<StoredEvent> => {
    requireScope(tx, scope)
    // UTF-8 takes at most three bytes per UTF-16 unit: most objects need no count.
    const isLarge = event.object.length * 3 > EVENT_MAX_BYTES
    const bytes = isLarge ? Buffer.byteLength(event.object) : event.object.length
    if (isLarge && bytes > EVENT_MAX_BYTES) {
      throw new Failure('payload_too_large', 'The event of this change would exceed 256 KiB.')
    }
    budgetOf(tx).charge({ rows: 1, bytes })
    const { start, sink, waiting } = announced ?? (await announce(tx, scope, event))
    const stored: StoredEvent = { ...event, ...start }
    const insertion = waiting ? insertWaiting : insert
    const traceparent = trace?.(tx, stored)
    const idKind = typeof event.objectId === 'string' ? 'text' : 'number'
    tx.runLater(
      insertion[idKind]([
        scope,
        stored.id,
        event.type,
        event.collection ?? null,
        event.objectId ?? null,
        event.subject ?? null,
        shape,
        event.object,
        stored.created,
        requestOf(tx)?.id ?? null,
        traceparent ?? null,
        start.recordedMs ?? null,
        ...(waiting ? [waiting.waitsFor, waiting.id, waiting.version] : []),
      ]),
    )
    await sink?.(tx, stored, traceparent)
    for (const inner of sinks) await inner(tx, stored)
    collectorOf(tx)?.push(stored)
    return stored
  }
  return Object.assign(record, { announce })
}

const newestId = prepareStatement('SELECT max(id) AS id FROM gh_events WHERE scope = ?')

export const findNewestEventId = async (from: Reader, scope: Scope): Promise<string | undefined> =>
  (await from.get<{ id: string | null }>(newestId([scope])))?.id ?? undefined

/** Returns the last event of a file, for its backup. */
export function findNewestEvent(file: Parameters<BackupOptions['findNewestEvent']>[0]) {
  const row = file.get(sql`SELECT id, type, created FROM gh_events ORDER BY position DESC LIMIT 1`)
  return row ? { id: row.id, type: row.type, created_at: isoTime(row.created * 1000) } : null
}

export interface EventHead extends Pick<StoredEvent, 'id' | 'type' | 'created'> {
  readonly recorded_at: number | null
}

const HEAD = 'id, type, created, recorded_at'
const latePage = prepareStatement(`SELECT ${HEAD} FROM ${lateEvents} ORDER BY id LIMIT ?`)
const page = prepareStatement(`SELECT ${HEAD} FROM gh_events
  WHERE scope = ? AND id > ? AND id <= ? AND (id > ? AND created >= ? OR recorded_at >= ?)
  ORDER BY id LIMIT ?`)

/** Reads events that were recorded in a range. */
export const readEventPage = (reader: Reader, scope: Scope, range: RecordedRange) =>
  readRecorded<EventHead>(reader, scope, 'evt_', range, {
    late: (from, values, limit) => from.all(latePage([...values, limit])),
    others: (from, { after, until, first, sinceMs, limit }) =>
      from.all(page([scope, after, until, first, Math.floor(sinceMs / 1000), sinceMs, limit])),
  })

const replace = prepareStatement('UPDATE gh_events SET object = ? WHERE scope = ? AND id = ?')

/** Replaces the object of an event whose person is erased (§18.11). */
export const replaceObject = (tx: Tx, scope: Scope, id: string, object: string) =>
  tx.run(replace([object, scope, id]))

type EventRow = Omit<StoredEvent, 'collection' | 'objectId'> & {
  readonly collection: string | null
}

const byId = prepareEvent('scope, id, type, created, collection, shape, object')

export const findEvent = (from: Reader, scope: Scope, id: string) =>
  from.get<EventRow>(byId([scope, id]))
