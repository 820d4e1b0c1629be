/**
 * Persons lose the account scopes that they once got by default (§3.6). Those stood at the end of
 * the list, in this order.
 */
export const personScopes = `
UPDATE gh_people SET
  scopes = replace(scopes, ',"webhooks:read","webhooks:write","events:read"]', ']'),
  revision = revision + 1
  WHERE scopes LIKE '%,"webhooks:read","webhooks:write","events:read"]';
`
