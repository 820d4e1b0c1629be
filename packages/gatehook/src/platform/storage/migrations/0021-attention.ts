/** Items of `/admin/attention` that an operator has put off, and indexes that find items. */
export const attention = `
CREATE TABLE gh_attention_delays (
  operator {text} NOT NULL,
  item {text} NOT NULL,
  until {int} NOT NULL,
  PRIMARY KEY (operator, item)
);
CREATE INDEX gh_attention_delays_until ON gh_attention_delays (until);
CREATE INDEX gh_api_keys_expiry ON gh_api_keys (expires_at)
  WHERE expires_at IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX gh_webhooks_disabled ON gh_webhooks (updated_at)
  WHERE active = 0 AND disabled_reason IS NOT NULL AND deleted_at IS NULL;
`
