/** Clients and their secrets, authorization codes, consents, browser sessions (§5). */
export const oauth = `
CREATE TABLE gh_clients (
  client_id {text} NOT NULL PRIMARY KEY,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  mode {text} NOT NULL,
  name {text} NOT NULL,
  redirect_uris {text} NOT NULL,
  scopes {text} NOT NULL,
  grant_types {text} NOT NULL,
  public {int} NOT NULL,
  require_client_auth_on_refresh {int} NOT NULL DEFAULT 0,
  created_at {int} NOT NULL,
  deleted_at {int}
);
CREATE INDEX gh_clients_scope ON gh_clients (scope, client_id);
CREATE INDEX gh_clients_name ON gh_clients (name, client_id) WHERE deleted_at IS NULL;
CREATE INDEX gh_clients_created ON gh_clients (created_at, client_id) WHERE deleted_at IS NULL;
CREATE TABLE gh_client_secrets (
  client_id {text} NOT NULL,
  hash {bytes} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int},
  PRIMARY KEY (client_id, hash)
);
CREATE TABLE gh_oauth_codes (
  hash {bytes} NOT NULL PRIMARY KEY,
  client_id {text} NOT NULL,
  scope {int} NOT NULL,
  subject {text} NOT NULL,
  redirect_uri {text} NOT NULL,
  challenge {text} NOT NULL,
  scopes {text} NOT NULL,
  revision {int} NOT NULL,
  expires_at {int} NOT NULL,
  used_at {int},
  session_id {text}
);
CREATE INDEX gh_oauth_codes_expiry ON gh_oauth_codes (expires_at);
CREATE INDEX gh_oauth_codes_subject ON gh_oauth_codes (scope, subject, client_id);
CREATE TABLE gh_consents (
  scope {int} NOT NULL,
  owner {int} NOT NULL,
  client_id {text} NOT NULL,
  client_name {text} NOT NULL,
  scopes {text} NOT NULL,
  created_at {int} NOT NULL,
  updated_at {int} NOT NULL,
  PRIMARY KEY (scope, owner, client_id)
);
CREATE INDEX gh_consents_created ON gh_consents (scope, owner, created_at, client_id);
CREATE INDEX gh_consents_client ON gh_consents (client_id);
CREATE TABLE gh_sign_ins (
  hash {bytes} NOT NULL PRIMARY KEY,
  scope {int} NOT NULL,
  subject {text} NOT NULL,
  revision {int} NOT NULL,
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);
CREATE INDEX gh_sign_ins_expiry ON gh_sign_ins (expires_at);
`
