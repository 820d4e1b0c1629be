/** Audit rows name the principal and the request. */
export const auditChain = `
ALTER TABLE gh_audit ADD COLUMN actor_name {text};
ALTER TABLE gh_audit ADD COLUMN address {text};
ALTER TABLE gh_audit ADD COLUMN request_id {text};
`
