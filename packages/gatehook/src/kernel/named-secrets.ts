/**
 * The names under which headers, members and parameters have secrets, for every log (§12.7). Case
 * and separators have no meaning: `X-Amz-Signature`, `clientSecret`. The time is linear in the
 * length of a text. Pure.
 */
import { composeText } from './compose.ts'
import { REDACTED_TEXT } from './credential-shapes.ts'

/** Parts of any name, without its separators. */
const PARTS = new RegExp(
  'passw|passphrase|passcode|pincode|pwd|secret|token|(?:api|access|private)key|authorization|' +
    'assertion|cookie|credential|signature|csrf|xsrf|cvc|cvv|totp',
)
/** Words of any name, which are parts of other words: `card_pin`, `cardPin`. */
const WORDS: ReadonlySet<string> = new Set(['otp', 'pass', 'pin', 'sig'])
/** Whole names, whose words have other meanings elsewhere: `country_code`. */
const NAMES: ReadonlySet<string> = new Set(
  'auth code codeverifier devicecode key ticket usercode xkey'.split(' '),
)
/** A cursor has values of a row. */
const PARAMETERS: ReadonlySet<string> = new Set(['cursor'])
/** Members of a private key as JSON Web Key, whose values are texts (RFC 7518 §6). */
const KEY_MEMBERS: ReadonlySet<string> = new Set(['d', 'dp', 'dq', 'k', 'p', 'q', 'qi'])
const FURTHER_PRIMES = 'oth'

/** Returns the words of a name in lower case. */
const wordsOf = (name: string): string[] =>
  /^[a-z0-9]+$/.test(name)
    ? [name]
    : composeText(name, 'NFKC')
        .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)

const fold = (name: string): string => wordsOf(name).join('')

const foldedNames = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>()

function foldAll(names: ReadonlySet<string>): ReadonlySet<string> {
  const cached = foldedNames.get(names)
  if (cached) return cached
  const folded = new Set(Array.from(names, fold))
  foldedNames.set(names, folded)
  return folded
}

/**
 * Returns the names in a name: `pin[in]` filters by `pin`, `metadata[pin]` by an entry,
 * `person.pin` by a field of another row.
 */
const partsOf = (name: string): string[] => name.split(/[[\]+.]/)

/** Whether a header, a member or a parameter of a name has a secret. */
export function isSecretName(name: string, secretFields: ReadonlySet<string>): boolean {
  const fields = foldAll(secretFields)
  return partsOf(name).some((part) => {
    const words = wordsOf(part)
    const whole = words.join('')
    if (NAMES.has(whole) || WORDS.has(whole) || fields.has(whole) || PARTS.test(whole)) return true
    return words.some((word) => WORDS.has(word.replace(/\d/g, '')))
  })
}

/** Whether the value of a member is a part of a private key. */
export const isKeyMember = (name: string, value: unknown): boolean =>
  (typeof value === 'string' && KEY_MEMBERS.has(fold(name))) || fold(name) === FURTHER_PRIMES

/** Decodes the name first: `%61pi_key` is `api_key`. A malformed name counts as secret. */
function isSecretParameter(name: string, secretFields: ReadonlySet<string>): boolean {
  let decoded = name
  if (name.includes('%')) {
    try {
      decoded = decodeURIComponent(name)
    } catch {
      return true
    }
    if (decoded.includes('%')) return true
  }
  if (PARAMETERS.has(decoded.toLowerCase()) || isSecretName(decoded, secretFields)) return true
  const [, ...inner] = partsOf(decoded)
  return inner.some((part) => KEY_MEMBERS.has(fold(part)))
}

/** The characters before a name in a text. */
const BEFORE_NAME: ReadonlySet<string> = new Set('=,"\'/<>(){}')

/**
 * Removes the values of secret parameters from a text: of URLs, of their fragments, of a form. In
 * prose, where `code` and `key` have other meanings, those of other names.
 *
 * @param secretFields names of fields that are declared secret, which parameters may have as well
 */
export function withoutSecretValues(
  text: string,
  secretFields: ReadonlySet<string>,
  isInside = false,
): string {
  if (!text.includes('=')) return text
  const parts = text.split(/([?&;#\s])/)
  const redacted = parts.map((part, index) => {
    const isParameter = '?&;#'.includes(parts[index - 1] ?? ' ') || parts[index + 1] === '&'
    return withoutSecretValue(part, secretFields, { isParameter, isInside })
  })
  return redacted.join('')
}

function withoutSecretValue(
  part: string,
  secretFields: ReadonlySet<string>,
  { isParameter, isInside }: { readonly isParameter: boolean; readonly isInside: boolean },
): string {
  const first = part.indexOf('=')
  for (let at = first; at >= 0; at = part.indexOf('=', at + 1)) {
    let from = at
    while (from > 0 && !BEFORE_NAME.has(part[from - 1]!)) from--
    const name = part.slice(from, at)
    const isSecret =
      isSecretParameter(name, secretFields) && (isParameter || !NAMES.has(fold(name)))
    if (isSecret) return part.slice(0, at + 1) + REDACTED_TEXT
  }
  const hidesValue = first >= 0 && !isInside && hasNamesInside(part.slice(first + 1), secretFields)
  return hidesValue ? part.slice(0, first + 1) + REDACTED_TEXT : part
}

/** Whether a value is an encoded JSON text with names, or an encoded URL or form with secrets. */
function hasNamesInside(value: string, secretFields: ReadonlySet<string>): boolean {
  if (/^(?:%22|%5b|%7b|["[{])/i.test(value) && /:|%3a/i.test(value)) return true
  if (!/%3d/i.test(value)) return false
  try {
    const decoded = decodeURIComponent(value)
    return withoutSecretValues(decoded, secretFields, true) !== decoded
  } catch {
    return true
  }
}
