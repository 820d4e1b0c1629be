/**
 * Audit rows name the principal and the request, and are linked by a chain of hashes: `tag` is the
 * writer's HMAC, `seq`, `hash` and `previous_hash` are null until a row joins the chain.
 * `gh_audit_chain` has its head (the last row) and its anchor (the last row that was purged).
 */
export const auditChain = `
ALTER TABLE gh_audit ADD COLUMN actor_name {text};
ALTER TABLE gh_audit ADD COLUMN address {text};
ALTER TABLE gh_audit ADD COLUMN request_id {text};
ALTER TABLE gh_audit ADD COLUMN tag {text};
ALTER TABLE gh_audit ADD COLUMN seq {int};
ALTER TABLE gh_audit ADD COLUMN hash {text};
ALTER TABLE gh_audit ADD COLUMN previous_hash {text};
CREATE UNIQUE INDEX gh_audit_seq ON gh_audit (seq);
CREATE INDEX gh_audit_unsealed ON gh_audit (position) WHERE seq IS NULL;
CREATE TABLE gh_audit_chain (
  name {text} NOT NULL PRIMARY KEY,
  seq {int} NOT NULL,
  hash {text} NOT NULL,
  untagged_through {int} NOT NULL,
  mac {text} NOT NULL
);
CREATE TABLE gh_audit_keys (
  id {text} NOT NULL PRIMARY KEY,
  sealed {bytes} NOT NULL
);
`
