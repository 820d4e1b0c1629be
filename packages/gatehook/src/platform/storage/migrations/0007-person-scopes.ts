/**
 * Removes the account scopes that earlier releases granted to persons by default (§3.6), at the end
 * of the list and in this order.
 */
export const personScopes = `
UPDATE gh_people SET
  scopes = replace(scopes, ',"webhooks:read","webhooks:write","events:read"]', ']'),
  revision = revision + 1
  WHERE scopes LIKE '%,"webhooks:read","webhooks:write","events:read"]';
`
