/** Scopes as OAuth writes them: names with a space between (RFC 6749 §3.3). Pure. */
import { Refusal } from './refusal.ts'

/** `scope-token` of RFC 6749: visible ASCII without `"` and `\`. */
const TOKENS = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/

/**
 * What a request asks for: all the client has where it names none. Throws `invalid_scope` for one
 * that is unknown or not the client's: it is never quietly left out (§5.3).
 */
export function askedScopes(text: string | undefined, ofClient: readonly string[]): string[] {
  if (text === undefined) return [...ofClient]
  if (!TOKENS.test(text)) {
    throw new Refusal('invalid_scope', 'Scopes are names with one space between them.')
  }
  const asked = [...new Set(text.split(' '))]
  if (!asked.every((scope) => ofClient.includes(scope))) {
    throw new Refusal('invalid_scope', 'A scope is unknown, or the client may not have it.')
  }
  return asked
}

/** What all of them have, in the order of the first. */
export const common = (first: readonly string[], ...rest: (readonly string[])[]): string[] =>
  first.filter((scope) => rest.every((scopes) => scopes.includes(scope)))
