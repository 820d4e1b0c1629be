/**
 * Sign-in names and passwords as they are compared. Pure; what they open is said elsewhere.
 */
import { Failure } from '../kernel/failure.ts'

/** UTF-8 bytes: longer ones only cost time. */
export const PASSWORD_MAX_BYTES = 1024

/** One form for all spellings of a sign-in name: without case, and composed (Unicode NFC). */
export const fold = (username: string): string =>
  username.normalize('NFC').toLowerCase().normalize('NFC')

/**
 * The bytes of a password that count: composed, so that the keyboard of another system gives the
 * same (RFC 8265 §4.2). Undefined for what can be nobody's password.
 */
export function passwordText(password: string): string | undefined {
  if (!password.isWellFormed() || /[\x00-\x1f\x7f]/.test(password)) return undefined
  const text = password.normalize('NFC')
  return Buffer.byteLength(text) <= PASSWORD_MAX_BYTES ? text : undefined
}

/** One and the same for an unknown name, a wrong password and a disabled account (§3.8). */
export const invalidCredentials = (challenge = 'Bearer'): Failure =>
  new Failure('invalid_credentials', undefined, { headers: { 'www-authenticate': challenge } })
