/**
 * Registrations, their secrets and deliveries (§9):
 * - A delivery is one row: one insert with its event, one update with its result. `state` is
 * pending,
 *   delivered, failed or exhausted. `paused` is not stored: it is `pending` while the registration
 * is
 *   inactive. So a change of a registration changes one row, however many deliveries wait. A
 * pending
 *   delivery of a deleted registration reads as failed until background work updates its row.
 * - A body is the envelope around the event's object. `gh_event_bodies` stores it only when the
 *   registration is pinned to another shape than that of the recorded event.
 * - A node leases all work of a customer, so that concurrency, rate and breaker are exact on many
 *   nodes.
 */
import { timeTable } from '../../platform/storage/partitions/catalog.ts'
import { byTextId, DAY_MS } from '../../platform/storage/partitions/periods.ts'
import { byScope, bytes, int, serial, type Table, text } from '../../platform/storage/table.ts'

export const webhooks: Table = {
  name: 'gh_webhooks',
  row:
    'A registration. `scopes`: the read scopes of its creator; `subject`: the person, ' +
    '`client_id`: the OAuth client that created it, `assertion`: by which assertion of an ' +
    'issuer, as JSON. `revision` grows with every change, ' +
    'including changes of its secrets. A deleted one stays without secrets until its ' +
    'deliveries are purged. `tag` is unique in the scope, and ends the ids of its deliveries. ' +
    '`first_failure_at` is the first failure since the last success; `hold_until` the end of ' +
    'a hold (§9.6). `health` is a position in `HEALTH_STATES`, which changes rarely: the row ' +
    'of a busy endpoint is not rewritten. `backlog` is 1 while its new deliveries wait in their ' +
    'events (decision 0083).',
  columns: {
    no: serial,
    id: text.plain,
    tag: text.plain,
    scope: int,
    url: text.personal,
    events: text.plain,
    description: text.personal.orNull,
    api_version: text.plain,
    subject: text.plain.orNull,
    active: int.or(1),
    disabled_reason: text.plain.orNull,
    revision: int.or(1),
    created_at: int,
    updated_at: int,
    deleted_at: int.orNull,
    first_failure_at: int.orNull,
    last_failure_at: int.orNull,
    last_success_at: int.orNull,
    hold_until: int.orNull,
    scopes: text.plain.or('[]'),
    client_id: text.plain.orNull,
    assertion: text.plain.orNull,
    health: int.or(1),
    backlog: int.or(0),
  },
  key: ['no'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    id: { on: 'scope, id', unique: true, serves: 'a registration by its id' },
    failing: {
      on: 'first_failure_at',
      where: 'first_failure_at IS NOT NULL AND active = 1',
      serves: 'endpoints that fail for days',
    },
    deleted: { on: 'deleted_at', where: 'deleted_at IS NOT NULL', serves: 'the purge' },
    subject: {
      on: 'scope, subject',
      where: 'subject IS NOT NULL AND deleted_at IS NULL',
      serves: 'the registrations of a person',
    },
    client: {
      on: 'client_id',
      where: 'client_id IS NOT NULL AND deleted_at IS NULL',
      serves: 'the registrations of a client',
    },
    live: { on: 'scope, no', where: 'deleted_at IS NULL', serves: 'lists of a customer' },
    health: { on: 'health, id', where: 'deleted_at IS NULL', serves: 'lists by health' },
    listed: { on: 'id', where: 'deleted_at IS NULL', serves: 'lists of all customers' },
    disabled: {
      on: 'updated_at',
      where: 'active = 0 AND disabled_reason IS NOT NULL AND deleted_at IS NULL',
      serves: 'endpoints that were disabled',
    },
    version: {
      on: 'api_version, no',
      where: 'deleted_at IS NULL AND active = 1',
      serves: 'endpoints that are pinned to a version (§8.9)',
    },
  },
  stays: 'until its deliveries are purged',
  searched: {
    type: 'webhook',
    prefix: 'wh',
    id: 'id',
    label: 'e.url',
    visible: 'deleted_at IS NULL',
  },
}

const webhookTopics: Table = {
  name: 'gh_webhook_topics',
  row:
    'A topic that a registration subscribes to, without redundant ones. The outbox seeks here; ' +
    'revision and maker are in the row of the registration.',
  columns: {
    scope: int,
    topic: text.plain,
    webhook_no: int,
    tag: text.plain,
    version: text.plain,
    scopes: text.plain.or('[]'),
    backlog: int.or(0),
  },
  key: ['scope', 'topic', 'webhook_no'],
  place: 'scope',
  belongs: byScope,
  stays: 'as long as the registration is not deleted',
}

export const WEBHOOK_SECRET_PURPOSE = 'webhook secret'

export const webhookSecrets: Table = {
  name: 'gh_webhook_secrets',
  row: 'A signing secret of a registration.',
  columns: {
    no: serial,
    webhook_no: int,
    encrypted: bytes.secret,
    created_at: int,
    expires_at: int.orNull,
    scope: int,
  },
  key: ['no'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    webhook: { on: 'webhook_no', serves: 'the secrets of a registration' },
  },
  stays: 'until it is replaced and has expired',
  encrypted: {
    encrypted: { purpose: WEBHOOK_SECRET_PURPOSE, rowOf: ([no]) => String(no) },
  },
}

const webhookOutcomes: Table = {
  name: 'gh_webhook_outcomes',
  row:
    'The summary of attempts of an endpoint, written at most once a second. `newest_id`: the ' +
    'greatest id of a delivery with an attempt.',
  columns: {
    webhook_no: int,
    marks: text.plain,
    hours: text.plain,
    breaker: text.plain,
    breaker_until: int.orNull,
    in_flight: int,
    newest_id: text.plain,
    updated_at: int,
    scope: int,
  },
  key: ['webhook_no'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    key: { on: 'scope, webhook_no', unique: true, serves: 'upserts by scope' },
  },
  stays: 'as long as its registration',
  ofNodes: true,
}

/** The expressions of the indexes of pending deliveries, and their condition. */
export const OWN = '(webhook_no + 0)'
export const TIME = '(next_attempt_at + 0)'
export const IS_PENDING = 'next_attempt_at IS NOT NULL'

export const deliveries: Table = {
  name: 'gh_deliveries',
  row:
    'A delivery. A pending one has `next_attempt_at`, by which partial indexes find it (decision ' +
    '0083). `attempts` has JSON arrays with commas between them and no outer brackets, so ' +
    'that an update can append: the first and the newest, of 128 KiB, with their numbers. ' +
    '`failed` is 1 for failed and exhausted ones.',
  columns: {
    no: serial,
    id: text.plain,
    scope: int,
    webhook_no: int,
    event_id: text.plain,
    event_type: text.plain,
    version: text.plain,
    state: text.plain.or('pending'),
    attempt: int.or(0),
    next_attempt_at: int.orNull,
    created_at: int,
    attempts: text.personal.orNull,
    failed: int.orNull,
  },
  key: ['scope', 'id'],
  place: 'scope',
  belongs: byScope,
  ofPerson: {
    columns: ['attempts'],
    isOf: ({ attempts }, person) => attempts !== null && person.identifies(String(attempts)),
    effect: 'clear',
  },
  indexes: {
    webhook: { on: 'webhook_no, id', serves: 'the log of a registration' },
    pending: {
      on: `${OWN}, scope, next_attempt_at, id`,
      where: IS_PENDING,
      serves:
        'the pending deliveries of a registration. An expression, so that PostgreSQL uses it for ' +
        'no other statement, and no other index for these: its plans may be older than the rows',
    },
    due: {
      on: TIME,
      where: IS_PENDING,
      serves: 'due deliveries by time. An expression for the same reason',
    },
    failures: {
      on: 'webhook_no, id',
      where: 'failed = 1',
      serves: 'the failures of a registration',
    },
    listed: { on: 'id', serves: 'lists of all customers' },
    listed_failures: { on: 'id', where: 'failed = 1', serves: 'failures of all customers' },
    no: { on: 'no', serves: 'the purge', only: 'postgres', purges: true },
  },
  stays: '30 days; an exhausted one 60',
  searched: { type: 'delivery', prefix: 'dlv', id: 'id', label: 'e.event_type' },
  divided: { ...byTextId('dlv_', 3 * DAY_MS), column: 'id', vacuumShare: 0.02 },
  distribution: {
    // Milliseconds instead of a sequence: the coordinator would read the rows of an INSERT … SELECT
    // to number them, and commit on two servers.
    defaults: { no: 'CAST(extract(epoch FROM now()) * 1000 AS BIGINT)' },
  },
}

const eventBodies: Table = {
  name: 'gh_event_bodies',
  row: 'The body of an event in another version.',
  columns: {
    scope: int,
    event_id: text.plain,
    version: text.plain,
    body: text.personal,
  },
  key: ['scope', 'event_id', 'version'],
  place: 'scope',
  belongs: byScope,
  // Exports have the event itself.
  hiddenInExports: [{ columns: ['body'], isIn: () => true }],
  stays: '30 days',
  divided: { ...byTextId('evt_', 3 * DAY_MS), column: 'event_id' },
}

export const deliveriesTables: readonly Table[] = [
  webhooks,
  webhookTopics,
  webhookSecrets,
  webhookOutcomes,
  deliveries,
  eventBodies,
]

export const deliveryTable = timeTable(deliveries)
export const bodyTable = timeTable(eventBodies)
