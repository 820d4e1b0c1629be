/** The scopes of OpenID Connect (§16.10), and the intersection of scopes. Pure. */

/**
 * Maps the scopes of OpenID Connect to their sentences on the consent page (§16.10). They open what
 * the server knows about a person, and nothing of the API. Every client of persons may request
 * them, every person may grant them, and no service may declare them.
 */
export const identityScopes: Readonly<Record<string, string>> = {
  openid: 'Recognize you when you sign in',
  profile: 'See your name',
  email: 'See your e-mail address',
  offline_access: 'Stay connected while you are away',
}

export const isIdentityScope = (scope: string): boolean => Object.hasOwn(identityScopes, scope)

/** Returns the scopes of the first list that the others have, too, and those of the identity. */
export const intersectScopes = (
  first: readonly string[],
  ...rest: readonly (readonly string[])[]
): string[] =>
  first.filter((scope) => isIdentityScope(scope) || rest.every((scopes) => scopes.includes(scope)))
