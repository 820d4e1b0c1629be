/** Events of rows. */
import { timeTable } from '../../platform/storage/partitions/catalog.ts'
import { byTextId, DAY_MS } from '../../platform/storage/partitions/periods.ts'
import { byScope, int, serial, type Table, text, txid } from '../../platform/storage/table.ts'
import { WAITS } from './waiting.ts'

/** An emitted event that was recorded later than this after its call is found by an index. */
export const LATE_MS = 10_000
/** The condition of such an event. */
export const LATE = `recorded_at > created * 1000 + ${LATE_MS}`

export const events: Table = {
  name: 'gh_events',
  row:
    'An event: the row after a change, in the shape of the version that wrote it. `object_id` ' +
    'or `object_key` is the id of the row; `subject` is the person whose request caused an event ' +
    'without a row; `trace` is the W3C `traceparent` that deliveries ' +
    'continue. `recorded_at`, in milliseconds, is when a node recorded an event that SQL ' +
    'emitted. A delivery without a row of its own waits in the event: `waits_for` is the number ' +
    'of its registration, until it gets a row; `waiting_id` and `waiting_version` are its id and ' +
    'version (decision 0083).',
  columns: {
    position: serial,
    txid: txid,
    scope: int,
    id: text.plain,
    type: text.plain,
    collection: text.plain.orNull,
    object_id: int.orNull,
    subject: text.plain.orNull,
    shape: text.plain,
    object: text.personal,
    created: int,
    request_id: text.plain.orNull,
    trace: text.plain.orNull,
    object_key: text.plain.orNull,
    recorded_at: int.orNull,
    waits_for: int.orNull,
    waiting_id: text.plain.orNull,
    waiting_version: text.plain.orNull,
  },
  key: ['scope', 'id'],
  place: 'scope',
  belongs: byScope,
  rowObjects: { column: 'object', resource: 'collection' },
  indexes: {
    type: { on: 'scope, type, id', serves: 'the list of events of a type', only: 'sqlite' },
    feed: { on: 'scope, txid, position', serves: 'lists and the feed', only: 'postgres' },
    types: {
      on: 'scope, type, txid, position',
      serves: 'the list of events of a type',
      only: 'postgres',
    },
    late: {
      on: 'scope, recorded_at',
      where: LATE,
      serves: 'replays of emitted events that were recorded late',
    },
    position: {
      on: 'position',
      serves: 'the purge, and feeds in the order of their numbers',
      only: 'postgres',
    },
    waiting: {
      on: 'waits_for, waiting_id',
      where: WAITS,
      serves: 'the waiting deliveries of a registration',
    },
    waiting_ids: {
      on: 'scope, waiting_id',
      where: WAITS,
      serves: 'the waiting deliveries of a customer',
    },
    waiting_all: {
      on: 'waiting_id',
      where: WAITS,
      serves: 'the waiting deliveries of all customers',
    },
  },
  stays: '30 days',
  searched: { type: 'event', prefix: 'evt', id: 'id', label: 'e.type' },
  divided: { ...byTextId('evt_', 3 * DAY_MS), column: 'id' },
  distribution: {
    // A feed is read on the server of its scope, so its transactions are those of that server.
    // Moved events have those of their source.
    defaults: { txid: '0' },
    triggers: [
      {
        name: 'gh_event_txid',
        event: 'BEFORE INSERT ON gh_events FOR EACH ROW WHEN (NEW.txid = 0)',
        body: 'NEW.txid := pg_current_xact_id()::text::bigint + gh_txid_epoch(); RETURN NEW;',
      },
    ],
  },
}

export const eventsTables: readonly Table[] = [events]

export const eventTable = timeTable(events)
