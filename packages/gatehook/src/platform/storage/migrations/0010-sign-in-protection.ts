/** Recognized clients of an account (§3.8), and second factor and sessions of operators (§13). */
export const signInProtection = `
CREATE TABLE gh_known_clients (
  account {text} NOT NULL,
  client {text} NOT NULL,
  used_at {int} NOT NULL,
  PRIMARY KEY (account, client)
);
CREATE INDEX gh_known_clients_used ON gh_known_clients (used_at);
ALTER TABLE gh_operators ADD COLUMN totp {bytes};
ALTER TABLE gh_operators ADD COLUMN totp_pending {bytes};
ALTER TABLE gh_operators ADD COLUMN totp_step {int} NOT NULL DEFAULT 0;
CREATE TABLE gh_operator_recovery_codes (
  operator {text} NOT NULL,
  hash {bytes} NOT NULL,
  PRIMARY KEY (operator, hash)
);
DELETE FROM gh_console_sessions;
ALTER TABLE gh_console_sessions ADD COLUMN id {text} NOT NULL DEFAULT '';
ALTER TABLE gh_console_sessions ADD COLUMN address {text} NOT NULL DEFAULT '';
ALTER TABLE gh_console_sessions ADD COLUMN last_used_at {int} NOT NULL DEFAULT 0;
ALTER TABLE gh_console_sessions ADD COLUMN ends_at {int} NOT NULL DEFAULT 0;
ALTER TABLE gh_console_sessions ADD COLUMN verified {int} NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX gh_console_sessions_id ON gh_console_sessions (id);
`
