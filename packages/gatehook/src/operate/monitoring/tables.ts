/**
 * Request log and figures. On PostgreSQL they are in the engine's database; on SQLite in a file of
 * their
 * own, except for `gh_attention_delays`. Rows of series, deliveries and errors count one step of
 * `step` seconds
 * from `at`, in epoch seconds, on one node. Absent values are '', so that they can be part of a
 * key.
 */
import type { Value } from '../../platform/storage/database.ts'
import {
  byCustomer,
  int,
  type PersonTrace,
  real,
  type Table,
  text,
} from '../../platform/storage/table.ts'
import type { RequestRecord } from './request-record.ts'
import { valuesOfRequest } from './request-values.ts'

type RequestCells = Readonly<Record<string, Value>>

const isCaller = (row: RequestCells, person: string): boolean =>
  row.caller_kind === 'person' && row.caller_id === person

/** Whether the person sent a request, or it concerns the row of the person. */
const concerns = (row: RequestCells, person: PersonTrace): boolean =>
  isCaller(row, person.id) || row.object === `${person.resource}/${person.id}`

const loggedRequests: Table = {
  name: 'gh_monitoring_requests',
  row: 'A logged request. `position` is its instant and the node that served it (`position.ts`).',
  columns: {
    position: int,
    id: text.plain,
    method: text.plain,
    path: text.personal,
    route: text.plain,
    kind: text.plain,
    stage: int,
    status: int.orNull,
    error: text.plain.orNull,
    took_ms: real,
    customer: text.plain.orNull,
    mode: text.plain.orNull,
    caller_kind: text.plain.orNull,
    caller_id: text.plain.orNull,
    caller_name: text.personal.orNull,
    key_id: text.plain.orNull,
    client_id: text.plain.orNull,
    version: text.plain.orNull,
    ip: text.personal,
    user_agent: text.personal.orNull,
    object: text.plain.orNull,
    event_ids: text.plain.orNull,
    warnings: text.plain.orNull,
    trace_id: text.plain.orNull,
    cause: text.plain.orNull,
    exchange: text.personal.orNull,
  },
  key: ['position'],
  place: 'local',
  belongs: byCustomer,
  ofPerson: {
    columns: ['kind', 'caller_kind', 'caller_id', 'object', 'caller_name', 'path', 'exchange'],
    isOf: (row, person) =>
      row.kind !== 'admin' &&
      (concerns(row, person) ||
        person.mentions(row.caller_name, row.path, row.exchange) ||
        person.isSearchedBy(row.path)),
    effect: 'delete',
    inRowsOfOthers: {
      columns: ['caller_kind', 'caller_id', 'object', 'path', 'route', 'error', 'exchange'],
      isOf: (row, person) =>
        concerns(row, person) ||
        valuesOfRequest(row as unknown as RequestRecord).some((value) => person.isDistinct(value)),
      cleared: { path: `CASE route WHEN '*' THEN '/…' ELSE route END`, exchange: 'NULL' },
    },
  },
  hiddenInExports: [
    {
      columns: [
        ...['path', 'caller_kind', 'caller_id', 'caller_name', 'key_id', 'client_id', 'version'],
        ...['ip', 'user_agent', 'event_ids', 'warnings', 'trace_id', 'exchange'],
      ],
      isIn: (row, person) =>
        person === undefined
          ? row.kind === 'admin' || row.caller_kind === 'operator'
          : !isCaller(row, person),
    },
  ],
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
  followsRequests: true,
  staysBehind: true,
}

const series: Table = {
  name: 'gh_monitoring_series',
  row: 'Counts of requests.',
  columns: {
    step: int,
    at: int,
    node: text.plain,
    customer: text.plain,
    mode: text.plain,
    caller: text.plain,
    version: text.plain,
    s2: int,
    s3: int,
    s4: int,
    s5: int,
    refused: int,
    limited: int,
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
  belongs: byCustomer,
  stays: 'as long as its step (`steps.ts`)',
  apart: true,
  followsRequests: true,
  staysBehind: true,
}

const deliverySeries: Table = {
  name: 'gh_monitoring_deliveries',
  row: 'Counts of attempts.',
  columns: {
    step: int,
    at: int,
    node: text.plain,
    customer: text.plain,
    mode: text.plain,
    webhook: text.plain,
    delivered: int,
    failed: int,
  },
  key: ['step', 'at', 'node', 'customer', 'mode', 'webhook'],
  place: 'local',
  belongs: byCustomer,
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
    node: text.plain,
    error: text.plain,
    status: int,
    route: text.plain,
    version: text.plain,
    customer: text.plain,
    mode: text.plain,
    count: int,
    last_at: int,
    sample: text.personal,
  },
  key: ['step', 'at', 'node', 'error', 'status', 'route', 'version', 'customer', 'mode'],
  place: 'local',
  belongs: byCustomer,
  stays: 'as long as its step',
  apart: true,
  followsRequests: true,
  staysBehind: true,
}

const logVolume: Table = {
  name: 'gh_monitoring_volume',
  row:
    'The bytes of requests that were logged in ten seconds, which bound the log (§12.7): ' +
    'tables and files retain the space of deleted rows.',
  columns: {
    at: int,
    node: text.plain,
    bytes: int,
  },
  key: ['at', 'node'],
  place: 'local',
  belongs: 'installation',
  stays: 'as long as the requests',
  apart: true,
  staysBehind: true,
}

const attentionDelays: Table = {
  name: 'gh_attention_delays',
  row: 'An item of `/admin/attention` that an operator has put off.',
  columns: {
    operator: text.plain,
    item: text.plain,
    until: int,
  },
  key: ['operator', 'item'],
  place: 'local',
  belongs: 'installation',
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
