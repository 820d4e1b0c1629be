/**
 * Sign-in names and passwords as they are compared. Pure; what they open is said elsewhere.
 */
import { Failure } from '../kernel/failure.ts'
import type { Read } from '../kernel/members.ts'

const PASSWORD_MIN = 8
/** UTF-8 bytes: longer ones only cost time. */
const PASSWORD_MAX_BYTES = 1024

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

/** A password somebody wants to have. */
export const newPassword: Read<string> = (value, wrong) => {
  if (typeof value !== 'string') return wrong('must be a string')
  const text = passwordText(value)
  if (text === undefined) {
    return wrong(
      `must be valid text without control characters, at most ${PASSWORD_MAX_BYTES} bytes`,
    )
  }
  if ([...text].length < PASSWORD_MIN) return wrong(`must have at least ${PASSWORD_MIN} characters`)
  return text
}

/** One and the same for an unknown name, a wrong password and a disabled account (§3.8). */
export const invalidCredentials = (challenge = 'Bearer'): Failure =>
  new Failure('invalid_credentials', undefined, { headers: { 'www-authenticate': challenge } })
