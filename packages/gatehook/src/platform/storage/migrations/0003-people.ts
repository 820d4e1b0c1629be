/** Accounts that can sign in: credentials of resource rows, failed attempts, operators. */
export const people = `
CREATE TABLE gh_people (
  resource {text} NOT NULL,
  id {int} NOT NULL,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  username {text} NOT NULL,
  folded {text} NOT NULL,
  password {text} NOT NULL,
  role {text},
  scopes {text} NOT NULL,
  disabled {int} NOT NULL DEFAULT 0,
  revision {int} NOT NULL DEFAULT 1,
  created_at {int} NOT NULL,
  PRIMARY KEY (resource, id)
);
CREATE UNIQUE INDEX gh_people_folded ON gh_people (folded);
CREATE TABLE gh_throttle (
  subject {text} NOT NULL PRIMARY KEY,
  attempts {text} NOT NULL DEFAULT '[]',
  told_until {int} NOT NULL DEFAULT 0,
  expires_at {int} NOT NULL
);
CREATE INDEX gh_throttle_expiry ON gh_throttle (expires_at);
CREATE TABLE gh_operators (
  id {text} NOT NULL PRIMARY KEY,
  email {text} NOT NULL,
  folded {text} NOT NULL,
  password {text} NOT NULL,
  disabled {int} NOT NULL DEFAULT 0,
  created_at {int} NOT NULL
);
CREATE UNIQUE INDEX gh_operators_folded ON gh_operators (folded);
CREATE TABLE gh_console_links (
  hash {bytes} NOT NULL PRIMARY KEY,
  id {text} NOT NULL,
  operator {text},
  expires_at {int} NOT NULL
);
CREATE INDEX gh_console_links_expiry ON gh_console_links (expires_at);
CREATE TABLE gh_console_sessions (
  hash {bytes} NOT NULL PRIMARY KEY,
  operator {text},
  link {text},
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);
CREATE INDEX gh_console_sessions_expiry ON gh_console_sessions (expires_at);
CREATE INDEX gh_console_sessions_operator ON gh_console_sessions (operator);
`
