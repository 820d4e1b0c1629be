/**
 * MAC keys of retired master secrets, encrypted under the current one. They verify refresh tokens
 * and stored requests until those expire.
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
