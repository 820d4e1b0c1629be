/**
 * The tables of `operate/monitoring/`. On PostgreSQL they are in the engine's database; on SQLite
 * in a file of their own, which `operate/monitoring/file-worker.ts` creates.
 *
 * `position` of a request is its instant and the node that served it
 * (`operate/monitoring/position.ts`). A row of `_series`, `_deliveries` and `_errors` counts one
 * step of `step` seconds from `at`, in epoch seconds, on one node. Absent values are '', so that
 * they can be part of a key.
 */
export const monitoringTables = `
CREATE TABLE gh_monitoring_requests (
  position {int} NOT NULL PRIMARY KEY,
  id {text} NOT NULL,
  method {text} NOT NULL,
  path {text} NOT NULL,
  route {text} NOT NULL,
  kind {text} NOT NULL,
  stage {int} NOT NULL,
  status {int},
  error {text},
  took_ms {real} NOT NULL,
  customer {text},
  mode {text},
  caller_kind {text},
  caller_id {text},
  caller_name {text},
  key_id {text},
  client_id {text},
  version {text},
  ip {text} NOT NULL,
  user_agent {text},
  object {text},
  event_ids {text},
  warnings {text},
  trace_id {text},
  exchange {text}
);
CREATE INDEX gh_monitoring_requests_id ON gh_monitoring_requests (id);
CREATE INDEX gh_monitoring_requests_customer ON gh_monitoring_requests (customer, position)
  WHERE customer IS NOT NULL;
CREATE INDEX gh_monitoring_requests_key ON gh_monitoring_requests (key_id, position)
  WHERE key_id IS NOT NULL;
CREATE INDEX gh_monitoring_requests_client ON gh_monitoring_requests (client_id, position)
  WHERE client_id IS NOT NULL;
CREATE INDEX gh_monitoring_requests_route ON gh_monitoring_requests (route, position);
CREATE INDEX gh_monitoring_requests_error ON gh_monitoring_requests (error, position)
  WHERE error IS NOT NULL;
CREATE INDEX gh_monitoring_requests_status ON gh_monitoring_requests (status, position)
  WHERE status >= 400;
CREATE INDEX gh_monitoring_requests_object ON gh_monitoring_requests (object, position)
  WHERE object IS NOT NULL;
CREATE TABLE gh_monitoring_series (
  step {int} NOT NULL,
  at {int} NOT NULL,
  node {text} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  caller {text} NOT NULL,
  version {text} NOT NULL,
  s2 {int} NOT NULL,
  s3 {int} NOT NULL,
  s4 {int} NOT NULL,
  s5 {int} NOT NULL,
  refused {int} NOT NULL,
  b0 {int} NOT NULL,
  b1 {int} NOT NULL,
  b2 {int} NOT NULL,
  b3 {int} NOT NULL,
  b4 {int} NOT NULL,
  b5 {int} NOT NULL,
  b6 {int} NOT NULL,
  b7 {int} NOT NULL,
  b8 {int} NOT NULL,
  b9 {int} NOT NULL,
  b10 {int} NOT NULL,
  b11 {int} NOT NULL,
  b12 {int} NOT NULL,
  b13 {int} NOT NULL,
  sampled {int} NOT NULL,
  dropped {int} NOT NULL,
  PRIMARY KEY (step, at, node, customer, mode, caller, version)
);
CREATE TABLE gh_monitoring_deliveries (
  step {int} NOT NULL,
  at {int} NOT NULL,
  node {text} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  webhook {text} NOT NULL,
  delivered {int} NOT NULL,
  failed {int} NOT NULL,
  PRIMARY KEY (step, at, node, customer, mode, webhook)
);
CREATE TABLE gh_monitoring_errors (
  step {int} NOT NULL,
  at {int} NOT NULL,
  node {text} NOT NULL,
  error {text} NOT NULL,
  status {int} NOT NULL,
  route {text} NOT NULL,
  version {text} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  count {int} NOT NULL,
  last_at {int} NOT NULL,
  sample {text} NOT NULL,
  PRIMARY KEY (step, at, node, error, status, route, version, customer, mode)
);
`

/** Replaced by `0070-nodes.ts`. */
const nodes = `CREATE TABLE gh_monitoring_nodes (
  id {text} NOT NULL PRIMARY KEY,
  slot {int} NOT NULL,
  facts {text} NOT NULL,
  seen_at {int} NOT NULL
);
`

/** The migration: on SQLite it adds no tables to the engine's database. */
export const monitoring = (monitoringTables + nodes)
  .split('\n')
  .map((line) => (line === '' ? '' : `{postgres} ${line}`))
  .join('\n')
