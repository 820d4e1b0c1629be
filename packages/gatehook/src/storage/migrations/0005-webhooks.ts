/**
 * Registrations, their secrets, deliveries (§9). What is kept where, and why:
 * - A delivery is one row: one insert with its event, one update with its result. `state` is
 *   pending, delivered, failed or exhausted. `paused` is not stored: it is `pending` of a
 *   registration that is not active, so that to switch one off, or on again, is one row however
 *   many wait. In the same way a pending delivery of a deleted registration reads as failed until
 *   the chore says so.
 * - `attempts` is JSON arrays with commas between them, no outer brackets: appended to as text.
 * - A body is the envelope around the event's object; `gh_event_bodies` has it only where the
 *   registration is pinned (`version`) to another shape than the event was recorded in.
 * - `gh_webhook_topics` is what registrations ask for, one row a topic, redundant ones left out:
 *   the outbox finds them by seeks on its key. `topics.ts` writes it, whoever changes `events`,
 *   `api_version` or deletes calls that.
 * - `revision` of a registration grows with every change, of its secrets too: engines look at it
 *   before they open secrets again. Deleted ones stay, with `deleted_at` and without secrets, until
 *   their deliveries are gone. `tag` is 8 characters, unique in the scope: part of delivery ids.
 * - `subject` is the person who registered it, where a person did.
 * - Health: `first_failure_at` since the last success, null when healthy; `parked_until`: §9.6.
 * - A node that delivers holds a customer's whole work (`gh_delivery_leases`), so that caps, rate
 *   and breaker are exact on many nodes; nodes show that they live by `beat`.
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
