/** Normalizes sign-in names and passwords before they are compared or hashed. Pure. */
import { Failure } from '../kernel/failure.ts'

/** The longest password, in bytes of UTF-8. */
export const PASSWORD_MAX_BYTES = 1024

/**
 * The longest text that is composed, in characters: the time of NFC is quadratic in the number of
 * successive combining marks, about 1 ms for this length and 20 s for 1 MiB.
 */
const COMPOSED_MAX = 4096

/**
 * Returns one form for all spellings of a sign-in name: lower case and composed (Unicode NFC). A
 * longer name than `COMPOSED_MAX` is not composed.
 */
export function foldName(username: string): string {
  if (username.length > COMPOSED_MAX) return username.toLowerCase()
  return username.normalize('NFC').toLowerCase().normalize('NFC')
}

/**
 * Returns the composed form of a password, which is the same on every keyboard. Returns undefined
 * for a text that cannot be a password: too long, malformed, or with control characters.
 *
 * @see RFC 8265 §4.2
 */
export function normalizePassword(password: string): string | undefined {
  if (!password.isWellFormed() || /[\x00-\x1f\x7f]/.test(password)) return undefined
  // NFC composes four characters into one at most: a longer text has too many bytes afterwards.
  if (password.length > COMPOSED_MAX) return undefined
  const text = password.normalize('NFC')
  return Buffer.byteLength(text) <= PASSWORD_MAX_BYTES ? text : undefined
}

/** Returns the same 401 for an unknown name, a wrong password and a disabled account (§3.8). */
export const invalidCredentials = (challenge = 'Bearer'): Failure =>
  new Failure('invalid_credentials', undefined, { headers: { 'www-authenticate': challenge } })
