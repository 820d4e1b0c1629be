/**
 * Rules for new passwords (§3.9): length, no common password, no sign-in name inside. Stored
 * passwords stay valid. The list of common passwords ships in `@zxcvbn-ts/language-common`
 * (MIT); it is loaded when the first password is set, and costs about 1 MB from then on.
 */
import type { FieldError } from '../kernel/failure.ts'
import { invalidMembers, type Read } from '../kernel/members.ts'
import { fold, PASSWORD_MAX_BYTES, passwordText } from './username.ts'

/** Minimum length in Unicode code points. */
export const MIN_LENGTH = { person: 8, operator: 12 } as const

/** Shorter passwords are too short for everybody, so the list holds longer ones only. */
const COMMON_PASSWORDS = 10_000
/** A shorter local part (`al@example.com`) occurs in many good passwords by chance. */
const LOCAL_PART_MIN = 4
/** The same for sign-in names. */
const NAME_MIN = 3

/** A new password of at least `min` characters, as it is hashed. */
export const newPassword =
  (min: number): Read<string> =>
  (value, wrong) => {
    if (typeof value !== 'string') return wrong('must be a string')
    const text = passwordText(value)
    if (text === undefined) {
      const rule = 'must be valid text without control characters'
      return wrong(`${rule}, at most ${PASSWORD_MAX_BYTES} bytes`)
    }
    return [...text].length < min ? wrong(`must have at least ${min} characters`) : text
  }

let commonPasswords: Promise<ReadonlySet<string>> | undefined

async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const ranked = dictionary['passwords-common'].map(String)
  const usable = ranked.filter((password) => password.length >= MIN_LENGTH.person)
  return new Set(usable.slice(0, COMMON_PASSWORDS))
}

/** Whether the password contains the name, or the local part of an e-mail address. */
function containsName(password: string, name: string): boolean {
  const [local = '', domain] = name.split('@')
  const isLongLocal = domain !== undefined && local.length >= LOCAL_PART_MIN
  return (
    (name.length >= NAME_MIN && password.includes(name)) ||
    (isLongLocal && password.includes(local))
  )
}

/** What is wrong with a new password of this sign-in name; undefined when it may be used. */
export async function passwordError(
  password: string,
  name: string,
  pointer: string,
): Promise<FieldError | undefined> {
  const code = 'password_too_common'
  const folded = fold(password)
  if (containsName(folded, fold(name))) {
    return { pointer, code, message: 'must not contain the sign-in name' }
  }
  commonPasswords ??= loadCommonPasswords()
  return (await commonPasswords).has(folded)
    ? { pointer, code, message: 'is one of the most common passwords' }
    : undefined
}

/** Throws `validation_failed` with `passwordError`. */
export async function refuseCommonPassword(
  password: string,
  name: string,
  pointer: string,
): Promise<void> {
  const error = await passwordError(password, name, pointer)
  if (error) throw invalidMembers([error])
}
