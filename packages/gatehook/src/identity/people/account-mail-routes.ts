/**
 * The routes and the mail of sign-up and password reset (§4.9, §4.10), where they are declared, and
 * of changed sign-in names (§6.9), where these are e-mail addresses.
 */

import type { MailTemplates } from '../../platform/mail/mailer.ts'
import type { MailFacts } from '../../platform/mail/message.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import {
  type AccountMailDeps,
  passwordMailOperations,
  signUpOperations,
  usernameOperations,
} from './account-mail.ts'
import { type MailWording, writeMail } from './mail-texts.ts'
import { TOKEN_LIFE_MINUTES } from './mail-tokens.ts'
import { reportsPasswords } from './own-password.ts'
import { passwordResetTemplates, requestPasswordReset, resetPassword } from './password-reset.ts'
import {
  resendVerification,
  signUp,
  signUpFields,
  signUpTemplates,
  verifyEmail,
} from './sign-up.ts'
import {
  confirmUsername,
  requestUsernameChange,
  type UsernameChangeDeps,
  usernameChangeTemplates,
} from './username-change.ts'

export function accountMailRoutes(deps: UsernameChangeDeps): Route[] {
  const { directory } = deps.context
  const routes: Route[] = []
  if (directory.signUp) {
    const operations = signUpOperations(directory.fields, signUpFields(directory), directory.names)
    routes.push(
      implement(operations.signUp, (call) => signUp(call, deps)),
      implement(operations.verify, (call, input) => verifyEmail(call, input, deps)),
      implement(operations.resend, (call, input) => resendVerification(call, input, deps)),
    )
  }
  if (directory.hasPasswordReset) {
    const { forgot, reset } = passwordMailOperations(directory.names)
    routes.push(
      implement(forgot, (call, input) => requestPasswordReset(call, input, deps)),
      implement(reset, (call, input) => resetPassword(call, input, deps)),
    )
  }
  if (directory.hasMailNames) {
    const { request, confirm } = usernameOperations
    routes.push(
      implement(request, (call, input) => requestUsernameChange(call, input, deps)),
      implement(confirm, (call, input) => confirmUsername(call, input, deps)),
    )
  }
  return routes
}

/** Returns the mail of people by kind. */
export function accountMailTemplates(deps: AccountMailDeps, wording: MailWording): MailTemplates {
  const { signUp, hasPasswordReset, hasMailNames } = deps.context.directory
  return {
    ...(signUp && signUpTemplates(deps, wording)),
    ...(hasPasswordReset && passwordResetTemplates(deps, wording)),
    ...(reportsPasswords(deps.context.directory) && {
      password_changed: async (_tx: Tx, facts: Pick<MailFacts, 'email' | 'passkeys'>) =>
        writeMail(wording, 'passwordChanged', { ...facts, validMinutes: TOKEN_LIFE_MINUTES }),
    }),
    ...(hasMailNames && {
      ...usernameChangeTemplates(deps, wording),
      passkey_added: async (_tx: Tx, { email }: { readonly email: string }) =>
        writeMail(wording, 'passkeyAdded', { email, validMinutes: TOKEN_LIFE_MINUTES }),
    }),
  }
}
