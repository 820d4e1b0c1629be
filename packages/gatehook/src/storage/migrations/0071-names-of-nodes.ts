/**
 * An audit row has the name of the node that performed the operation (§18.10). The trail is read in
 * the order of its chain (§18.9).
 */
export const namesOfNodes = `
ALTER TABLE gh_audit ADD COLUMN node {text};
CREATE INDEX gh_audit_order ON gh_audit (seq, id);
`
