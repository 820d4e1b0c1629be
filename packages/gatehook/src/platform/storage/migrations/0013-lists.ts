/** Indexes for declared filters and sorts whose lists read whole tables (§7.10). */
export const lists = `
CREATE INDEX gh_api_keys_customer ON gh_api_keys (customer, id) WHERE revoked_at IS NULL;
CREATE INDEX gh_clients_customer ON gh_clients (customer, client_id) WHERE deleted_at IS NULL;
CREATE INDEX gh_people_username ON gh_people (resource, lower(username));
CREATE INDEX gh_people_customer ON gh_people (resource, customer, id);
CREATE INDEX gh_audit_actor ON gh_audit (actor_id, id);
CREATE INDEX gh_audit_action ON gh_audit (action, id);
CREATE INDEX gh_audit_target ON gh_audit (target, id);
CREATE INDEX gh_version_usage_no ON gh_version_usage (version, no);
`
