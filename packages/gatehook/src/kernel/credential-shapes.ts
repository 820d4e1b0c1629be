/**
 * Removes credentials from text by their shape, wherever a caller put them: another parameter, a
 * path, a header, a body (§3.3, §12.7). The time is linear in the length of the text. Pure.
 */

/** Replaces a credential. ASCII, because other characters double the bytes and time of a line. */
export const REDACTED_TEXT = '...'

/**
 * A key, token or secret with a prefix that this server issued, or a part of one. `~1` is a slash
 * in a JSON pointer.
 */
const PREFIXED = /(gk_live_|gk_test_|gs_|grt_|whsec_)[\w+/=%~-]+/g
/** The same in prose, where `settings_changed` contains no secret of a client. */
const PREFIXED_WORD = /(gk_live_|gk_test_|(?<![a-z])gs_|grt_|whsec_)[\w+/=%~-]+/g
/** A JSON Web Token: base64url of `{"`, then parts behind dots. */
const JSON_WEB_TOKEN = /(eyJ)[\w-]{8,}(?:(?:\.|%2[eE])[\w-]*)*/g
const RECOGNIZABLE = /g[ks]_|grt_|whsec_|eyJ/

/** Removes issued credentials from prose, by their first characters. */
export const withoutIssued = (text: string): string => replaceIssued(text, PREFIXED_WORD)

const replaceIssued = (text: string, prefixed: RegExp): string =>
  RECOGNIZABLE.test(text)
    ? text.replace(prefixed, `$1${REDACTED_TEXT}`).replace(JSON_WEB_TOKEN, `$1${REDACTED_TEXT}`)
    : text

/**
 * At least 30 random bytes in base64url, without a prefix: cookies, authorization codes, tokens of
 * mails and links. Ids, hashes in hexadecimal, UUIDs and words with hyphens do not match.
 */
const LONG_WORD = /[\w-]{40,}/g
const isRandom = (word: string): boolean => /[a-z]/.test(word) && /[A-Z]/.test(word)
/** A pair of name and password behind the scheme `Basic`. */
const BASIC_PAIR = /(\b(?:Basic|basic|BASIC)(?:[ +]|%20)+)(?=[a-z]*[A-Z0-9])[\w+/=%~-]{8,}/g

/** The prefixes of `PREFIXED` and `JSON_WEB_TOKEN`, which may be in a random word by chance. */
const PREFIX = /gk_live_|gk_test_|gs_|grt_|whsec_|eyJ/
const withoutRandom = (word: string): string => {
  if (!isRandom(word)) return word
  const at = word.search(PREFIX)
  if (at === -1) return REDACTED_TEXT
  return at === 0 ? word : REDACTED_TEXT + word.slice(at)
}

/** Removes credentials of any shape that this server issues or accepts, from what a caller sent. */
export const withoutCredentials = (text: string): string =>
  replaceIssued(
    text.replace(BASIC_PAIR, `$1${REDACTED_TEXT}`).replace(LONG_WORD, withoutRandom),
    PREFIXED,
  )
