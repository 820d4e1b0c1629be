/** The node that purges for all nodes, until `held_until` (`operate/system/chore-lease.ts`). */
export const choreLeases = `
CREATE TABLE gh_chore_leases (
  name {text} NOT NULL PRIMARY KEY,
  node {text} NOT NULL,
  held_until {int} NOT NULL
);
`
