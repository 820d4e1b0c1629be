/**
 * Registrations, their secrets and deliveries (§9):
 * - A delivery is one row: one insert with its event, one update with its result. `state` is
 *   pending, delivered, failed or exhausted. `paused` is not stored: it is `pending` while the
 *   registration is inactive. So disabling or enabling a registration changes one row, however
 *   many deliveries wait. A pending delivery of a deleted registration reads as failed until
 *   background work updates its row.
 * - `attempts` contains JSON arrays with commas between them and no outer brackets, so that an
 *   update can append text.
 * - A body is the envelope around the event's object. `gh_event_bodies` stores it only when the
 *   registration is pinned (`version`) to another shape than that of the recorded event.
 * - `gh_webhook_topics` has one row for each topic that a registration subscribes to, without
 *   redundant topics. The outbox finds registrations by seeks on its key. `topics.ts` writes it
 *   whenever `events` or `api_version` changes, or a registration is deleted.
 * - `revision` of a registration grows with every change, including changes of its secrets. Engines
 *   compare it before they decrypt secrets again. A deleted registration stays, with `deleted_at`
 *   and without secrets, until its deliveries are purged. `tag` has 8 characters, is unique in the
 *   scope, and is part of delivery ids.
 * - `subject` is the person that created the registration, or null.
 * - Health: `first_failure_at` is the first failure since the last success, null when healthy;
 *   `parked_until` is the end of a hold (§9.6).
 * - A delivering node leases all work of a customer (`gh_delivery_leases`), so that concurrency,
 *   rate and breaker are exact on many nodes. `beat` is the last heartbeat of a node.
 */
export const webhooks = `
CREATE TABLE gh_webhooks (
  no {serial},
  id {text} NOT NULL,
  tag {text} NOT NULL,
  scope {int} NOT NULL,
  url {text} NOT NULL,
  events {text} NOT NULL,
  description {text},
  api_version {text} NOT NULL,
  subject {text},
  active {int} NOT NULL DEFAULT 1,
  disabled_reason {text},
  revision {int} NOT NULL DEFAULT 1,
  created_at {int} NOT NULL,
  updated_at {int} NOT NULL,
  deleted_at {int},
  first_failure_at {int},
  last_failure_at {int},
  last_success_at {int},
  parked_until {int}
);
CREATE UNIQUE INDEX gh_webhooks_id ON gh_webhooks (scope, id);
CREATE INDEX gh_webhooks_failing ON gh_webhooks (first_failure_at)
  WHERE first_failure_at IS NOT NULL AND active = 1;
CREATE INDEX gh_webhooks_deleted ON gh_webhooks (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TABLE gh_webhook_topics (
  scope {int} NOT NULL,
  topic {text} NOT NULL,
  webhook_no {int} NOT NULL,
  tag {text} NOT NULL,
  version {text} NOT NULL,
  PRIMARY KEY (scope, topic, webhook_no)
);
CREATE TABLE gh_webhook_secrets (
  no {serial},
  webhook_no {int} NOT NULL,
  sealed {bytes} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int}
);
CREATE INDEX gh_webhook_secrets_webhook ON gh_webhook_secrets (webhook_no);
CREATE TABLE gh_deliveries (
  no {serial},
  id {text} NOT NULL,
  scope {int} NOT NULL,
  webhook_no {int} NOT NULL,
  event_id {text} NOT NULL,
  event_type {text} NOT NULL,
  version {text} NOT NULL,
  state {text} NOT NULL DEFAULT 'pending',
  attempt {int} NOT NULL DEFAULT 0,
  next_attempt_at {int},
  created_at {int} NOT NULL,
  attempts {text}
);
CREATE UNIQUE INDEX gh_deliveries_id ON gh_deliveries (scope, id);
CREATE INDEX gh_deliveries_webhook ON gh_deliveries (webhook_no, id);
CREATE INDEX gh_deliveries_due ON gh_deliveries (webhook_no, next_attempt_at, no)
  WHERE state = 'pending';
CREATE TABLE gh_event_bodies (
  scope {int} NOT NULL,
  event_id {text} NOT NULL,
  version {text} NOT NULL,
  body {text} NOT NULL,
  PRIMARY KEY (scope, event_id, version)
);
CREATE TABLE gh_delivery_nodes (
  id {text} NOT NULL PRIMARY KEY,
  beat {int} NOT NULL
);
CREATE TABLE gh_delivery_leases (
  customer_no {int} NOT NULL PRIMARY KEY,
  node {text} NOT NULL
);
CREATE INDEX gh_delivery_leases_node ON gh_delivery_leases (node);
`
