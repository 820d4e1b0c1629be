/**
 * The bounds of a sign-in (§11.5): hundreds of sign-ins wait for a thread at a time, and each
 * holds its body, its name and the keys that follow from the name. Pure.
 */
import { b } from '../../protocol/fields/members.ts'
import { PASSWORD_MAX_LENGTH } from './username.ts'

/** The most characters of a sign-in name; no declaration allows a longer one. */
export const NAME_MAX = 320

/** The longest text that can be one: a character is two units of a text at most. */
export const NAME_MAX_LENGTH = 2 * NAME_MAX

/** A sign-in name in a body. */
export const signInName = b.text({ max: NAME_MAX }).example('ada@example.com')

/** The token of a link, or a code, in a body; longer ones do not exist. */
export const signInToken = b.text({ max: 1_000 }).secret()

/** Returns whether an account can have the name and the password. */
export const canExist = (username: string, password: string): boolean =>
  username.length <= NAME_MAX_LENGTH && password.length <= PASSWORD_MAX_LENGTH
