/**
 * The names under which headers, members and parameters have secrets, for every log (§12.7). Case
 * and separators have no meaning: `X-Amz-Signature`, `clientSecret`. The time is linear in the
 * length of a text, and the part of names is bounded. Pure.
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

/**
 * Characters of names, with `NAME_COST` for each, that are examined in one text; an ordinary URL
 * has a tenth. Any name is compared with many, so that a text of names alone would cost the log a
 * hundred times what another text does.
 */
const NAME_CHARACTERS_MAX = 2_048
const NAME_COST = 4
/** A longer name is no name of a header, member or parameter, and counts as secret. */
const NAME_LENGTH_MAX = 256

/** Returns a name in lower case, with a space before each word that began with a capital. */
const spaced = (name: string): string =>
  /^[a-z0-9]*$/.test(name)
    ? name
    : composeText(name, 'NFKC')
        .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
        .toLowerCase()

const wordsOf = (spacedName: string): string[] => spacedName.split(/[^\p{L}\p{N}]+/u)
const fold = (name: string): string => wordsOf(spaced(name)).join('')

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
const partsOf = (spacedName: string): string[] => spacedName.split(/[[\]+.]/)

/** Whether a header, a member or a parameter of a name has a secret. */
export function isSecretName(name: string, secretFields: ReadonlySet<string>): boolean {
  if (name.length > NAME_LENGTH_MAX) return true
  const fields = foldAll(secretFields)
  return partsOf(spaced(name)).some((part) => {
    if (part === '') return false
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
  const [, ...inner] = partsOf(spaced(decoded))
  return inner.some((part) => KEY_MEMBERS.has(wordsOf(part).join('')))
}

/** The characters before a name in a text. */
const BEFORE_NAME: ReadonlySet<string> = new Set('=,"\'/<>(){}')

/** Where a text is, and how many characters of names are still examined in it. */
interface Names {
  readonly secretFields: ReadonlySet<string>
  readonly isInside: boolean
  left: number
}

/**
 * Removes the values of secret parameters from a text: of URLs, of their fragments, of a form. In
 * prose, where `code` and `key` have other meanings, those of other names. A text with more names
 * than are examined ends there.
 *
 * @param secretFields names of fields that are declared secret, which parameters may have as well
 */
export function withoutSecretValues(text: string, secretFields: ReadonlySet<string>): string {
  return withoutValues(text, { secretFields, isInside: false, left: NAME_CHARACTERS_MAX })
}

function withoutValues(text: string, names: Names): string {
  if (!text.includes('=')) return text
  const parts = text.split(/([?&;#\s])/)
  let redacted = ''
  for (const [index, part] of parts.entries()) {
    const isParameter = '?&;#'.includes(parts[index - 1] ?? ' ') || parts[index + 1] === '&'
    redacted += withoutSecretValue(part, isParameter, names)
    if (names.left < 0) break
  }
  return redacted
}

function withoutSecretValue(part: string, isParameter: boolean, names: Names): string {
  const { secretFields } = names
  const first = part.indexOf('=')
  for (let at = first; at >= 0; at = part.indexOf('=', at + 1)) {
    let from = at
    while (from > 0 && !BEFORE_NAME.has(part[from - 1]!)) from--
    const name = part.slice(from, at)
    names.left -= name.length + NAME_COST
    const isSecret =
      names.left < 0 ||
      (isSecretParameter(name, secretFields) && (isParameter || !NAMES.has(fold(name))))
    if (isSecret) return part.slice(0, at + 1) + REDACTED_TEXT
  }
  const hidesValue = first >= 0 && !names.isInside && hasNamesInside(part.slice(first + 1), names)
  return hidesValue ? part.slice(0, first + 1) + REDACTED_TEXT : part
}

/** Whether a value is an encoded JSON text with names, or an encoded URL or form with secrets. */
function hasNamesInside(value: string, { secretFields }: Names): boolean {
  if (/^(?:%22|%5b|%7b|["[{])/i.test(value) && /:|%3a/i.test(value)) return true
  if (!/%3d/i.test(value)) return false
  try {
    const decoded = decodeURIComponent(value)
    const names = { secretFields, isInside: true, left: NAME_CHARACTERS_MAX }
    return withoutValues(decoded, names) !== decoded
  } catch {
    return true
  }
}
