/**
 * An audit row has the name of the node that performed the operation (§18.10), and the trail is
 * read in the order of its chain (§18.9). Endpoints have the state `slow`, before `failing`.
 */
export const factsForOperators = `
ALTER TABLE gh_audit ADD COLUMN node {text};
DROP INDEX gh_audit_seq;
CREATE INDEX gh_audit_order ON gh_audit (seq, id);
UPDATE gh_webhooks SET health = 5 WHERE health = 4;
`
