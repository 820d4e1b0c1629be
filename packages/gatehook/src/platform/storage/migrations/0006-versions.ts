/** Announced dates of versions (§8.5), their usage (§8.9), notices to customers (§8.10). */
export const versions = `
CREATE TABLE gh_versions (
  version {text} NOT NULL PRIMARY KEY,
  overrides {text} NOT NULL DEFAULT '{}',
  revision {int} NOT NULL DEFAULT 0
);
CREATE TABLE gh_version_usage (
  no {serial},
  version {text} NOT NULL,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  key_id {text} NOT NULL,
  client_id {text} NOT NULL,
  method {text} NOT NULL,
  route {text} NOT NULL,
  count {int} NOT NULL,
  last_at {int} NOT NULL
);
CREATE UNIQUE INDEX gh_version_usage_by ON gh_version_usage
  (version, scope, key_id, client_id, method, route);
CREATE INDEX gh_version_usage_last ON gh_version_usage (version, last_at, no);
CREATE TABLE gh_version_notices (
  version {text} NOT NULL,
  notice {text} NOT NULL,
  scope {int} NOT NULL,
  sent_at {int} NOT NULL,
  PRIMARY KEY (version, notice, scope)
);
`
