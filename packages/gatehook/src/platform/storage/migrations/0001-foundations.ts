/** Tables of the engine. `{serial} {int} {text} {bytes}` are the dialect's types. */
export const foundations = `
CREATE TABLE gh_settings (
  name {text} NOT NULL PRIMARY KEY,
  value {text} NOT NULL
);
CREATE TABLE gh_customers (
  no {serial},
  id {text} NOT NULL,
  name {text} NOT NULL,
  suspended {int} NOT NULL DEFAULT 0,
  limits {text} NOT NULL DEFAULT '{}',
  created_at {int} NOT NULL
);
CREATE UNIQUE INDEX gh_customers_id ON gh_customers (id);
CREATE INDEX gh_customers_name ON gh_customers (name, id);
CREATE INDEX gh_customers_created ON gh_customers (created_at, id);
CREATE TABLE gh_api_keys (
  id {text} NOT NULL PRIMARY KEY,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  name {text} NOT NULL,
  scopes {text} NOT NULL,
  cidrs {text} NOT NULL DEFAULT '[]',
  api_version {text},
  hint {text} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int},
  revoked_at {int},
  last_used_at {int}
);
CREATE INDEX gh_api_keys_scope ON gh_api_keys (scope, id);
CREATE INDEX gh_api_keys_name ON gh_api_keys (name, id) WHERE revoked_at IS NULL;
CREATE INDEX gh_api_keys_created ON gh_api_keys (created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX gh_api_keys_used ON gh_api_keys (last_used_at, id) WHERE revoked_at IS NULL;
CREATE TABLE gh_api_key_secrets (
  hash {bytes} NOT NULL PRIMARY KEY,
  key_id {text} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int}
);
CREATE INDEX gh_api_key_secrets_key ON gh_api_key_secrets (key_id);
CREATE TABLE gh_events (
  position {serial},
  txid {txid},
  scope {int} NOT NULL,
  id {text} NOT NULL,
  type {text} NOT NULL,
  collection {text},
  object_id {int},
  shape {text} NOT NULL,
  object {text} NOT NULL,
  created {int} NOT NULL
);
CREATE UNIQUE INDEX gh_events_id ON gh_events (scope, id);
CREATE INDEX gh_events_type ON gh_events (scope, type, id);
{postgres} CREATE INDEX gh_events_feed ON gh_events (scope, txid, position);
CREATE TABLE gh_counters (
  scope {int} NOT NULL,
  collection {text} NOT NULL,
  slot {int} NOT NULL,
  total {int} NOT NULL,
  PRIMARY KEY (scope, collection, slot)
);
CREATE TABLE gh_audit (
  position {serial},
  id {text} NOT NULL,
  at {int} NOT NULL,
  actor_kind {text} NOT NULL,
  actor_id {text} NOT NULL,
  action {text} NOT NULL,
  target {text} NOT NULL,
  scope {int},
  detail {text} NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX gh_audit_id ON gh_audit (id);
CREATE INDEX gh_audit_at ON gh_audit (at, id);
CREATE TABLE gh_idempotency (
  scope {int} NOT NULL,
  id {bytes} NOT NULL,
  fingerprint {bytes} NOT NULL,
  answer {bytes},
  expires_at {int} NOT NULL,
  PRIMARY KEY (scope, id)
);
CREATE INDEX gh_idempotency_expiry ON gh_idempotency (expires_at);
CREATE TABLE gh_quota (
  subject {text} NOT NULL,
  period {int} NOT NULL,
  used {int} NOT NULL,
  expires_at {int} NOT NULL,
  PRIMARY KEY (subject, period)
);
CREATE INDEX gh_quota_expiry ON gh_quota (expires_at);
`
