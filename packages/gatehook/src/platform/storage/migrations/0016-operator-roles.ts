/** The role of an operator. Operators of earlier releases have every permission. */
export const operatorRoles = `
ALTER TABLE gh_operators ADD COLUMN role {text} NOT NULL DEFAULT 'administrator';
`
