/**
 * Parts of customers that other nodes serve (`outbound/deliveries/customer-parts.ts`): the
 * endpoints whose number has the residue by the modulus. `load` is the percentage of time in which
 * deliveries waited for a node. A node with `parts = 0` is of a release that serves whole customers
 * only.
 */
export const customerParts = `
ALTER TABLE gh_delivery_nodes ADD COLUMN load {int} NOT NULL DEFAULT 0;
ALTER TABLE gh_delivery_nodes ADD COLUMN parts {int} NOT NULL DEFAULT 0;
CREATE TABLE gh_delivery_parts (
  customer_no {int} NOT NULL,
  modulus {int} NOT NULL,
  residue {int} NOT NULL,
  node {text} NOT NULL,
  PRIMARY KEY (customer_no, modulus, residue)
);
`
