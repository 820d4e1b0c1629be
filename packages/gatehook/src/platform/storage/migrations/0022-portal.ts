/** One-time links to the portal, and its sessions (§12.2). */
export const portal = `
CREATE TABLE gh_portal_links (
  hash {bytes} NOT NULL PRIMARY KEY,
  id {text} NOT NULL,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  can {text} NOT NULL,
  email {text},
  return_url {text},
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);
CREATE UNIQUE INDEX gh_portal_links_id ON gh_portal_links (id);
CREATE INDEX gh_portal_links_scope ON gh_portal_links (scope, expires_at);
CREATE INDEX gh_portal_links_expiry ON gh_portal_links (expires_at);
CREATE TABLE gh_portal_sessions (
  hash {bytes} NOT NULL PRIMARY KEY,
  id {text} NOT NULL,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  kind {text} NOT NULL,
  subject {text} NOT NULL,
  revision {int},
  can {text} NOT NULL,
  email {text},
  return_url {text},
  address {text} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);
CREATE UNIQUE INDEX gh_portal_sessions_id ON gh_portal_sessions (id);
CREATE INDEX gh_portal_sessions_subject ON gh_portal_sessions (kind, subject, scope, created_at);
CREATE INDEX gh_portal_sessions_expiry ON gh_portal_sessions (expires_at);
CREATE INDEX gh_consents_recent ON gh_consents (scope, created_at, owner, client_id);
`
