/** Normalizes passwords before they are compared or hashed. Pure. */

import { composeText } from '../../kernel/compose.ts'
import { Failure } from '../../kernel/failure.ts'

/** The longest password, in bytes of UTF-8. */
export const PASSWORD_MAX_BYTES = 1024
/** The longest text that can be one: NFC composes four characters into one at most. */
export const PASSWORD_MAX_LENGTH = 4 * PASSWORD_MAX_BYTES

/**
 * Returns the composed form of a password, which is the same on every keyboard. Returns undefined
 * for a text that cannot be a password: too long, malformed, or with control characters.
 *
 * @see RFC 8265 §4.2
 */
export function normalizePassword(password: string): string | undefined {
  if (!password.isWellFormed() || /[\x00-\x1f\x7f]/.test(password)) return undefined
  if (password.length > PASSWORD_MAX_LENGTH) return undefined
  const text = composeText(password)
  return Buffer.byteLength(text) <= PASSWORD_MAX_BYTES ? text : undefined
}

/** Returns the same 401 for an unknown name, a wrong password and a disabled account (§3.8). */
export const invalidCredentials = (challenge = 'Bearer', message?: string): Failure =>
  new Failure('invalid_credentials', message, { headers: { 'www-authenticate': challenge } })
