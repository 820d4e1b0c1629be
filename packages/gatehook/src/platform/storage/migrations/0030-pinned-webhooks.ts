/** Finds the endpoints that are pinned to a version, for the list of its callers (§8.9). */
export const pinnedWebhooks = `
CREATE INDEX gh_webhooks_version ON gh_webhooks (api_version, no)
  WHERE deleted_at IS NULL AND active = 1;
`
