/**
 * Rules for new passwords (§3.9): a minimum length, no common password, no sign-in name inside.
 * Stored passwords stay valid. The list of common passwords is part of
 * `@zxcvbn-ts/language-common` (MIT). It is loaded with the first new password, and takes 1 MB.
 */

import type { FieldError } from '../../kernel/failure.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { b, type Member } from '../../protocol/fields/members.ts'
import { normalizePassword, PASSWORD_MAX_BYTES } from './username.ts'

/** Minimum length in Unicode code points. */
export const MIN_LENGTH = { person: 8, operator: 12 } as const

/** The list contains passwords of at least the minimum length of people. */
const COMMON_PASSWORDS = 10_000
/** A shorter local part (`al@example.com`) occurs in strong passwords by chance. */
const LOCAL_PART_MIN = 4
/** A shorter sign-in name does, too. */
const NAME_MIN = 3

/** A new password of at least `min` characters, in the form that is hashed. */
export const newPassword = (min: number): Member<string> =>
  b
    .matching(/^[^\x00-\x1f\x7f]*$/, 'valid text without control characters', {
      format: 'password',
      min,
      max: PASSWORD_MAX_BYTES,
    })
    .describe(`At least ${min} characters; not a common password, without the sign-in name.`)
    .example('correct horse battery staple')
    .refine((value, reject) => {
      const text = normalizePassword(value)
      if (text === undefined) {
        const rule = 'must be valid text without control characters'
        return reject(`${rule}, at most ${PASSWORD_MAX_BYTES} bytes`)
      }
      return [...text].length < min ? reject(`must have at least ${min} characters`) : text
    })

let commonPasswords: Promise<ReadonlySet<string>> | undefined

async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  const ranked = dictionary['passwords-common'].map(String)
  const usable = ranked.filter((password) => password.length >= MIN_LENGTH.person)
  return new Set(usable.slice(0, COMMON_PASSWORDS))
}

/** Returns whether a password contains the name, or the local part of an e-mail address. */
function containsName(password: string, name: string): boolean {
  const [local = '', domain] = name.split('@')
  const isLongLocal = domain !== undefined && local.length >= LOCAL_PART_MIN
  return (
    (name.length >= NAME_MIN && password.includes(name)) ||
    (isLongLocal && password.includes(local))
  )
}

/** Returns the error of a new password; undefined if it is acceptable. */
export async function findPasswordError(
  password: string,
  name: string,
  pointer: string,
): Promise<FieldError | undefined> {
  const code = 'password_too_common'
  const folded = foldName(password)
  if (containsName(folded, foldName(name))) {
    return { pointer, code, message: 'must not contain the sign-in name' }
  }
  commonPasswords ??= loadCommonPasswords()
  return (await commonPasswords).has(folded)
    ? { pointer, code, message: 'is one of the most common passwords' }
    : undefined
}

/** Throws 422 `validation_failed` for a password that contains the name, or is common. */
export async function rejectCommonPassword(
  password: string,
  name: string,
  pointer: string,
): Promise<void> {
  const error = await findPasswordError(password, name, pointer)
  if (error) throw invalidMembers([error])
}
