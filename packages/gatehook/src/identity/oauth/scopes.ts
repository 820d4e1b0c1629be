/** Scopes as OAuth writes them: names separated by a space (RFC 6749 §3.3). Pure. */
import { identityScopes } from '../tokens/identity-scopes.ts'
import type { OauthClient } from './client.ts'
import { OauthError } from './oauth-error.ts'

/** `scope` of RFC 6749 §3.3: its tokens are visible ASCII without `"` and `\`. */
const FORMAT = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/**
 * Parses the parameter `scope`; without it, returns all scopes of the client (§5.3). Throws
 * `invalid_scope` for a malformed value, and for a scope that the client lacks.
 *
 * @param named scopes that the client gets by their names only
 */
export function parseScopes(
  text: string | undefined,
  clientScopes: readonly string[],
  named: readonly string[] = [],
): string[] {
  if (text === undefined) return [...clientScopes]
  if (!FORMAT.test(text)) {
    throw new OauthError('invalid_scope', 'Scopes are names with one space between them.')
  }
  const scopes = [...new Set(text.split(' '))]
  const refused = scopes.find((scope) => !clientScopes.includes(scope) && !named.includes(scope))
  if (refused !== undefined) {
    const name = refused.slice(0, 100)
    throw new OauthError('invalid_scope', `${name} is unknown, or the client may not have it.`)
  }
  return scopes
}

/** Returns the scopes of OpenID Connect that a client may request (§16.10). */
export const identityScopesOf = ({ idTokenAlgorithm }: OauthClient): readonly string[] =>
  idTokenAlgorithm === undefined ? [] : Object.keys(identityScopes)
