/** Signing keys, sessions, and revocations, which every node applies within 2 s (§4). */
export const tokens = `
CREATE TABLE gh_signing_keys (
  kid {text} NOT NULL PRIMARY KEY,
  public_jwk {text} NOT NULL,
  sealed_private_jwk {bytes} NOT NULL,
  created_at {int} NOT NULL,
  signs_from {int} NOT NULL
);
CREATE TABLE gh_sessions (
  id {text} NOT NULL PRIMARY KEY,
  scope {int} NOT NULL,
  customer {text} NOT NULL,
  person {int} NOT NULL,
  client_id {text} NOT NULL,
  scopes {text} NOT NULL,
  token_hash {bytes} NOT NULL,
  previous_hash {bytes},
  successor {bytes},
  rotated_at {int},
  created_at {int} NOT NULL,
  last_used_at {int} NOT NULL,
  expires_at {int} NOT NULL,
  ends_at {int} NOT NULL,
  access_until {int} NOT NULL
);
CREATE INDEX gh_sessions_person ON gh_sessions (scope, person, id);
CREATE INDEX gh_sessions_created ON gh_sessions (scope, person, created_at, id);
CREATE INDEX gh_sessions_client ON gh_sessions (scope, client_id);
CREATE INDEX gh_sessions_expiry ON gh_sessions (expires_at);
CREATE INDEX gh_sessions_sealed ON gh_sessions (rotated_at) WHERE successor IS NOT NULL;
CREATE TABLE gh_revocations (
  position {serial},
  txid {txid},
  kind {text} NOT NULL,
  value {text} NOT NULL,
  keep_until {int} NOT NULL
);
CREATE INDEX gh_revocations_value ON gh_revocations (value, kind);
CREATE INDEX gh_revocations_expiry ON gh_revocations (keep_until);
{postgres} CREATE INDEX gh_revocations_feed ON gh_revocations (txid);
`
