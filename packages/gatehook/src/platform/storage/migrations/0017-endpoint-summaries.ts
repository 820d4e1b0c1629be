/**
 * The health of endpoints for lists of all customers.
 * - `gh_webhooks.health` is a position in `HEALTH_STATES`, by which lists sort. It changes rarely:
 *   the row of a busy endpoint is not rewritten.
 * - `gh_webhook_outcomes` is the engine's summary of attempts, written at most once a second for
 *   each endpoint. `newest_id` is the greatest id of a delivery with an attempt.
 * - The id of a delivery ends with the tag of its registration, which finds it without a scope.
 */
export const endpointSummaries = `
ALTER TABLE gh_webhooks ADD COLUMN health {int} NOT NULL DEFAULT 1;
UPDATE gh_webhooks SET health = 0 WHERE active = 0;
CREATE INDEX gh_webhooks_health ON gh_webhooks (health, id) WHERE deleted_at IS NULL;
CREATE INDEX gh_webhooks_listed ON gh_webhooks (id) WHERE deleted_at IS NULL;
CREATE INDEX gh_webhooks_tag ON gh_webhooks (tag);
CREATE TABLE gh_webhook_outcomes (
  webhook_no {int} NOT NULL PRIMARY KEY,
  marks {text} NOT NULL,
  hours {text} NOT NULL,
  breaker {text} NOT NULL,
  breaker_until {int},
  in_flight {int} NOT NULL,
  newest_id {text} NOT NULL,
  updated_at {int} NOT NULL
);
CREATE INDEX gh_deliveries_failed ON gh_deliveries (no) WHERE state IN ('failed', 'exhausted');
CREATE INDEX gh_deliveries_unsuccessful ON gh_deliveries (webhook_no, id)
  WHERE state IN ('failed', 'exhausted');
`
