/**
 * The authority and the creator of registrations, and replays in the background (§9.14).
 * - `scopes`: the read scopes of the creator, a JSON array; NULL for registrations that precede
 *   this migration, until the next start stores theirs. `gh_webhook_topics` repeats them, so that
 *   the outbox reads one table only.
 * - `subject` is the person and `client_id` the OAuth client that created the registration; both
 *   are NULL for an API key.
 * - `gh_webhook_replays` contains the newest replay of each registration. `position` is the last
 *   processed id, `until_id` the last id to process; `ended_at` is NULL while the replay runs.
 *   `owner` is the node that runs it and `beat` that node's last heartbeat.
 */
export const webhookAuthority = `
ALTER TABLE gh_webhooks ADD COLUMN scopes {text};
ALTER TABLE gh_webhooks ADD COLUMN client_id {text};
ALTER TABLE gh_webhook_topics ADD COLUMN scopes {text};
CREATE INDEX gh_webhooks_subject ON gh_webhooks (scope, subject)
  WHERE subject IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX gh_webhooks_client ON gh_webhooks (client_id)
  WHERE client_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX gh_webhooks_live ON gh_webhooks (scope, no) WHERE deleted_at IS NULL;
CREATE TABLE gh_webhook_replays (
  webhook_no {int} NOT NULL PRIMARY KEY,
  kind {text} NOT NULL,
  since {int} NOT NULL,
  types {text} NOT NULL,
  position {text} NOT NULL,
  until_id {text} NOT NULL,
  count {int} NOT NULL,
  done {int} NOT NULL DEFAULT 0,
  started_at {int} NOT NULL,
  ended_at {int},
  outcome {text},
  owner {text},
  beat {int} NOT NULL DEFAULT 0
);
CREATE INDEX gh_webhook_replays_running ON gh_webhook_replays (webhook_no) WHERE ended_at IS NULL;
`
