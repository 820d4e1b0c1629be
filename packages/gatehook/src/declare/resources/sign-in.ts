/**
 * `.signsIn({…})`: how the rows of a resource sign in, and whether strangers sign up. Types, and
 * the mistakes of a declaration. Pure.
 */

import type { NameReach } from '../../identity/people/namespace.ts'
import { NAME_MAX } from '../../identity/people/sign-in-bounds.ts'
import { missingField } from '../../kernel/closest.ts'
import type { FieldSpec, Fields } from '../../protocol/fields/fields.ts'

export interface SignInOptions<F extends Fields> {
  /** The field that is the sign-in name, of at most 320 characters. */
  readonly username: keyof F & string
  /**
   * The rows with a password among which a sign-in name is unique: all of the installation, or
   * those of a customer and mode. With `customer` a request that signs in names the customer.
   * Default: `installation`.
   */
  readonly names?: NameReach
  /** The scopes of a person to whom an operator grants none (§6.7). */
  readonly scopes?: readonly string[]
  /**
   * Opens `POST /auth/signup`: strangers create an account, once they have confirmed their e-mail
   * address. It is in live mode of the customer `default`, or with `names: 'customer'` in the
   * customer and mode that the request names.
   */
  readonly signUp?: SignUpOptions<F>
  /**
   * Opens `POST /auth/password/forgot` and `POST /auth/password/reset`. Default: whether `signUp`
   * is declared.
   */
  readonly passwordReset?: boolean
}

export interface SignUpOptions<F extends Fields> {
  /** The fields that a stranger sets, besides the e-mail address. */
  readonly fields?: readonly (keyof F & string)[]
  /** The scopes of the new account. Default: those of every person. */
  readonly scopes?: readonly string[]
}

export interface SignInDefinition {
  readonly username: string
  readonly names: NameReach
  readonly scopes?: readonly string[] | undefined
  readonly signUp?:
    | {
        readonly fields: readonly string[]
        readonly scopes?: readonly string[] | undefined
      }
    | undefined
  readonly passwordReset: boolean
}

/** Returns the definition of `.signsIn()`; its types may have been ignored by plain JavaScript. */
export function toSignInDefinition<F extends Fields>({
  username,
  names = 'installation',
  scopes,
  signUp,
  passwordReset,
}: SignInOptions<F>): SignInDefinition {
  return {
    username,
    names,
    scopes,
    signUp: signUp && { fields: signUp.fields ?? [], scopes: signUp.scopes },
    passwordReset: passwordReset ?? signUp !== undefined,
  }
}

export const isTexts = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((item) => typeof item === 'string'))

/** Returns the mistakes in the types of `.signsIn()`, which plain JavaScript meets. */
export function findSignInTypeMistakes(options: unknown): string[] {
  const {
    names,
    signUp,
    passwordReset,
    scopes: personScopes,
  } = (options ?? {}) as Partial<SignInOptions<Fields>>
  const isObject = typeof signUp === 'object' && signUp !== null
  if (signUp !== undefined && !isObject) return ["signUp is an object: { fields: ['name'] }"]
  const { fields, scopes } = signUp ?? {}
  const isReach = names === undefined || names === 'installation' || names === 'customer'
  return [
    ...(isReach ? [] : ["names is 'installation' or 'customer'"]),
    ...(isTexts(fields) ? [] : ['signUp.fields is an array of field names']),
    ...(isTexts(personScopes) ? [] : ['scopes is an array of scopes']),
    ...(isTexts(scopes) ? [] : ['signUp.scopes is an array of scopes']),
    ...(passwordReset === undefined || typeof passwordReset === 'boolean'
      ? []
      : ['passwordReset is true or false']),
  ]
}

/** Members of `/admin/users`, which a field of the same name would hide. */
const ACCOUNT_MEMBERS = ['role', 'disabled', 'customer', 'mode', 'scopes', 'identities']

/** Returns a sentence for the developer per mistake in `.signsIn()`. */
export function findSignInMistakes(
  fields: Readonly<Record<string, FieldSpec>>,
  signsIn: SignInDefinition | undefined,
): string[] {
  if (!signsIn) return []
  const { username, signUp, passwordReset } = signsIn
  const kind = fields[username]?.kind
  if (!/^(string|email)$/.test(kind ?? '')) {
    return [`.signsIn(): ${username} is not an f.string() or f.email()`]
  }
  if (fields[username]?.computed) {
    return [`.signsIn(): ${username} is computed, and a sign-in name follows from no other field`]
  }
  const mistakes = ACCOUNT_MEMBERS.filter((name) => Object.hasOwn(fields, name)).map(
    (name) => `.signsIn(): ${name} is a member of accounts; choose another name for the field`,
  )
  if (fields[username]!.max! > NAME_MAX) {
    mistakes.push(`.signsIn(): ${username} has at most ${NAME_MAX} characters, by .max()`)
  }
  const sendsMail = signUp ? 'signUp' : passwordReset && 'passwordReset'
  if (sendsMail && kind !== 'email') {
    mistakes.push(`.signsIn(): ${sendsMail} sends mail, so ${username} must be an f.email()`)
  }
  if (!signUp) return mistakes
  for (const name of signUp.fields) {
    const spec = fields[name]
    if (!spec) mistakes.push(`.signsIn(): signUp: ${missingField(name, fields)}`)
    else if (spec.write === 'never') {
      mistakes.push(`.signsIn(): signUp: clients never write ${name}`)
    } else if (spec.writableBy !== undefined) {
      mistakes.push(`.signsIn(): signUp: ${name} needs the scope ${spec.writableBy} to be written`)
    }
  }
  const accepted = new Set([username, ...signUp.fields])
  for (const [name, { write }] of Object.entries(fields)) {
    if (write !== 'required' || accepted.has(name)) continue
    mistakes.push(`.signsIn(): signUp: a row needs ${name}, and signUp.fields lacks it`)
  }
  return mistakes
}
