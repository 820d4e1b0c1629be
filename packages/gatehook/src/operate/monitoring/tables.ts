/**
 * Request log and figures. On PostgreSQL they are in the engine's database; on SQLite in a file of
 * their
 * own, except for `gh_attention_delays`. Rows of series, deliveries and errors count one step of
 * `step` seconds
 * from `at`, in epoch seconds, on one node. Absent values are '', so that they can be part of a
 * key.
 */
import { int, real, type Table, text } from '../../platform/storage/table.ts'

const loggedRequests: Table = {
  name: 'gh_monitoring_requests',
  row: 'A logged request. `position` is its instant and the node that served it (`position.ts`).',
  columns: {
    position: int,
    id: text,
    method: text,
    path: text,
    route: text,
    kind: text,
    stage: int,
    status: int.orNull,
    error: text.orNull,
    took_ms: real,
    customer: text.orNull,
    mode: text.orNull,
    caller_kind: text.orNull,
    caller_id: text.orNull,
    caller_name: text.orNull,
    key_id: text.orNull,
    client_id: text.orNull,
    version: text.orNull,
    ip: text,
    user_agent: text.orNull,
    object: text.orNull,
    event_ids: text.orNull,
    warnings: text.orNull,
    trace_id: text.orNull,
    exchange: text.orNull,
  },
  key: ['position'],
  place: 'local',
  indexes: {
    id: { on: 'id', serves: 'a request by its id' },
    customer: {
      on: 'customer, position',
      where: 'customer IS NOT NULL',
      serves: 'lists of a customer',
    },
    key: { on: 'key_id, position', where: 'key_id IS NOT NULL', serves: 'lists of a key' },
    client: {
      on: 'client_id, position',
      where: 'client_id IS NOT NULL',
      serves: 'lists of a client',
    },
    route: { on: 'route, position', serves: 'lists of a route' },
    error: { on: 'error, position', where: 'error IS NOT NULL', serves: 'lists of an error' },
    status: { on: 'status, position', where: 'status >= 400', serves: 'lists of failures' },
    object: { on: 'object, position', where: 'object IS NOT NULL', serves: 'lists of an object' },
  },
  stays: 'as long as the log has space (`retention.ts`)',
  apart: true,
  staysBehind: true,
}

const series: Table = {
  name: 'gh_monitoring_series',
  row: 'Counts of requests.',
  columns: {
    step: int,
    at: int,
    node: text,
    customer: text,
    mode: text,
    caller: text,
    version: text,
    s2: int,
    s3: int,
    s4: int,
    s5: int,
    refused: int,
    b0: int,
    b1: int,
    b2: int,
    b3: int,
    b4: int,
    b5: int,
    b6: int,
    b7: int,
    b8: int,
    b9: int,
    b10: int,
    b11: int,
    b12: int,
    b13: int,
    sampled: int,
    dropped: int,
  },
  key: ['step', 'at', 'node', 'customer', 'mode', 'caller', 'version'],
  place: 'local',
  stays: 'as long as its step (`steps.ts`)',
  apart: true,
  staysBehind: true,
}

const deliverySeries: Table = {
  name: 'gh_monitoring_deliveries',
  row: 'Counts of attempts.',
  columns: {
    step: int,
    at: int,
    node: text,
    customer: text,
    mode: text,
    webhook: text,
    delivered: int,
    failed: int,
  },
  key: ['step', 'at', 'node', 'customer', 'mode', 'webhook'],
  place: 'local',
  stays: 'as long as its step',
  apart: true,
  staysBehind: true,
}

const errorSeries: Table = {
  name: 'gh_monitoring_errors',
  row: 'Counts of errors, with a sample.',
  columns: {
    step: int,
    at: int,
    node: text,
    error: text,
    status: int,
    route: text,
    version: text,
    customer: text,
    mode: text,
    count: int,
    last_at: int,
    sample: text,
  },
  key: ['step', 'at', 'node', 'error', 'status', 'route', 'version', 'customer', 'mode'],
  place: 'local',
  stays: 'as long as its step',
  apart: true,
  staysBehind: true,
}

const logVolume: Table = {
  name: 'gh_monitoring_volume',
  row:
    'The bytes of requests that were logged in ten seconds, which bound the log (§12.7): ' +
    'tables and files retain the space of deleted rows.',
  columns: {
    at: int,
    node: text,
    bytes: int,
  },
  key: ['at', 'node'],
  place: 'local',
  stays: 'as long as the requests',
  apart: true,
  staysBehind: true,
}

const attentionDelays: Table = {
  name: 'gh_attention_delays',
  row: 'An item of `/admin/attention` that an operator has put off.',
  columns: {
    operator: text,
    item: text,
    until: int,
  },
  key: ['operator', 'item'],
  place: 'local',
  indexes: {
    until: { on: 'until', serves: 'the purge' },
  },
  stays: 'until `until`',
}

export const monitoringTables: readonly Table[] = [
  loggedRequests,
  series,
  deliverySeries,
  errorSeries,
  logVolume,
  attentionDelays,
]
