/** The operations with which people sign in and change their own password (§4.3). */
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { sessionTokens } from '../tokens/api.ts'
import { type NameReach, placeErrors, placeMembersFor } from './namespace.ts'
import { MIN_LENGTH, newPassword } from './password-policy.ts'
import { signInName } from './sign-in-bounds.ts'

/** Any text: a malformed password is rejected like a wrong one. */
const password = b.text({ format: 'password' }).example('correct horse battery staple')

const loginInput = (names: NameReach) => ({
  username: signInName,
  password,
  ...placeMembersFor(names),
})
const ownPasswordInput = {
  current: password,
  new: newPassword(MIN_LENGTH.person).deferred(),
  keep_passkeys: b
    .bool()
    .optional()
    .describe('Whether the passkeys still sign in. Default: they are deleted.')
    .example(true),
}

export type LoginInput = ValuesOf<ReturnType<typeof loginInput>>
export type OwnPasswordInput = ValuesOf<typeof ownPasswordInput>

/** @param names where a sign-in name is unique */
export const signInOperations = (names: NameReach) => ({
  login: operation('POST /auth/login', {
    id: 'login',
    summary: 'Sign in with a name and a password',
    input: loginInput(names),
    bodyCode: 'invalid_request',
    output: sessionTokens,
    isSecret: true,
    errors: [...placeErrors(names), 'invalid_credentials', 'customer_suspended'],
  }),
  changePassword: operation('POST /auth/password', {
    id: 'change_own_password',
    summary: 'Change the own password',
    description:
      'The other sessions of the person end, and the passkeys unless `keep_passkeys` is true. A ' +
      'mail tells the person.',
    input: ownPasswordInput,
    bodyCode: 'invalid_request',
    errors: ['invalid_credentials', 'validation_failed', 'first_party_required'],
  }),
})

export type SignInOperations = ReturnType<typeof signInOperations>
