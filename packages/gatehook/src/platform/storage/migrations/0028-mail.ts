/**
 * Mail that waits to be sent, and the hashes of the tokens that mail carries: of sign-ups and of
 * password resets.
 */
export const mail = `
CREATE TABLE gh_mail (
  id {text} NOT NULL PRIMARY KEY,
  kind {text} NOT NULL,
  payload {text} NOT NULL,
  state {text} NOT NULL,
  attempts {int} NOT NULL,
  due_at {int} NOT NULL,
  error {text},
  created_at {int} NOT NULL
);
CREATE INDEX gh_mail_due ON gh_mail (state, due_at, id);
CREATE TABLE gh_mail_tokens (
  hash {bytes} NOT NULL PRIMARY KEY,
  purpose {text} NOT NULL,
  resource {text} NOT NULL,
  folded {text} NOT NULL,
  person {int},
  revision {int},
  body {text},
  created_at {int} NOT NULL,
  expires_at {int} NOT NULL
);
CREATE INDEX gh_mail_tokens_folded ON gh_mail_tokens (resource, folded, created_at);
CREATE INDEX gh_mail_tokens_expiry ON gh_mail_tokens (expires_at);
`
