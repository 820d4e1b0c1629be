/**
 * MAC keys of master secrets that were rotated out, encrypted under the present one: refresh tokens
 * and stored requests that were signed with them are verified until they expire.
 */
export const secrets = `
CREATE TABLE gh_retired_keys (
  key_id {text} NOT NULL,
  purpose {text} NOT NULL,
  sealed {bytes} NOT NULL,
  expires_at {int} NOT NULL,
  PRIMARY KEY (key_id, purpose)
);
`
