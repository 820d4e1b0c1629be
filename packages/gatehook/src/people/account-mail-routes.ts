/** The routes and the mail of sign-up and password reset (§4.9, §4.10), where they are declared. */
import type { Route } from '../http/call.ts'
import { implement } from '../http/operation.ts'
import type { MailTemplates } from '../mail/mailer.ts'
import { type AccountMailDeps, passwordMailOperations, signUpOperations } from './account-mail.ts'
import type { MailWording } from './mail-texts.ts'
import { passwordResetTemplates, requestPasswordReset, resetPassword } from './password-reset.ts'
import {
  resendVerification,
  signUp,
  signUpFields,
  signUpTemplates,
  verifyEmail,
} from './sign-up.ts'

export function accountMailRoutes(deps: AccountMailDeps): Route[] {
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
  return routes
}

/** Returns the mail of people by kind; empty if neither is declared. */
export function accountMailTemplates(deps: AccountMailDeps, wording: MailWording): MailTemplates {
  const { signUp, hasPasswordReset } = deps.context.directory
  return {
    ...(signUp && signUpTemplates(deps, wording)),
    ...(hasPasswordReset && passwordResetTemplates(deps, wording)),
  }
}
