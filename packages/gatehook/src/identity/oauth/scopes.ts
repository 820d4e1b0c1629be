/** Scopes as OAuth writes them: names separated by a space (RFC 6749 §3.3). Pure. */
import { OauthError } from './oauth-error.ts'

/** `scope` of RFC 6749 §3.3: its tokens are visible ASCII without `"` and `\`. */
const FORMAT = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/**
 * Parses the parameter `scope`; without it, returns all scopes of the client (§5.3). Throws
 * `invalid_scope` for a malformed value, and for a scope that the client lacks.
 */
export function parseScopes(text: string | undefined, clientScopes: readonly string[]): string[] {
  if (text === undefined) return [...clientScopes]
  if (!FORMAT.test(text)) {
    throw new OauthError('invalid_scope', 'Scopes are names with one space between them.')
  }
  const scopes = [...new Set(text.split(' '))]
  const refused = scopes.find((scope) => !clientScopes.includes(scope))
  if (refused !== undefined) {
    const name = refused.slice(0, 100)
    throw new OauthError('invalid_scope', `${name} is unknown, or the client may not have it.`)
  }
  return scopes
}

/** Returns the intersection of lists, in the order of the first. */
export const intersect = (first: readonly string[], ...rest: (readonly string[])[]): string[] =>
  first.filter((scope) => rest.every((scopes) => scopes.includes(scope)))
