/**
 * A row for each node (`platform/storage/running-nodes.ts`). JSON: `facts` are those of
 * `operate/monitoring/`, `columns` the columns of resources that the node uses, `key_ids` its
 * master secrets. The table replaces one that only PostgreSQL had.
 */
export const nodes = `
CREATE TABLE gh_nodes (
  id {text} NOT NULL PRIMARY KEY,
  name {text} NOT NULL,
  slot {int} NOT NULL,
  facts {text} NOT NULL,
  columns {text} NOT NULL,
  key_ids {text} NOT NULL,
  seen_at {int} NOT NULL
);
{postgres} DROP TABLE gh_monitoring_nodes;
`
