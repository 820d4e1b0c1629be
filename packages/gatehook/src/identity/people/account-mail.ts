/**
 * The operations that send mail to people (§4.9, §4.10), and the common part of their requests. A
 * response never depends on whether an account exists: the request enqueues a mail, and its
 * template looks for the account when the mail is sent.
 */

import { addressBlock } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Vault } from '../../kernel/secret.ts'
import { type JobCaller, jobCallerOf } from '../../platform/jobs/job.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { emailAddress } from '../../protocol/fields/email-address.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import { countMailRequest, type RequestedMail, tooMuchMail } from './mail-throttle.ts'
import {
  findNamespace,
  type NameReach,
  placeErrors,
  placeMembersFor,
  type SignInPlace,
  scopeOfNamespace,
} from './namespace.ts'
import { MIN_LENGTH, newPassword } from './password-policy.ts'
import type { PersonContext } from './person-administration.ts'
import { rowMembers } from './row-members.ts'
import * as store from './store.ts'

export interface AccountMailDeps {
  readonly admin: Administration
  readonly vault: Vault
  readonly outbox: MailOutbox
  readonly context: PersonContext
}

const RESET_TOKEN = 'mT7cR2vX9pLq4sN1bK8wZ5yG3hJ6dF0aQeUiOtYrWxE'
const SIGN_UP_TOKEN = 'aQeUiOtYrWxE3hJ6dF0mT7cR2vX9pLq4sN1bK8wZ5yG'
const USERNAME_TOKEN = '8wZ5yG3hJ6dF0aQeUiOtYrWxEmT7cR2vX9pLq4sN1bK'
const tokenOf = (example: string) => b.line(200).describe('The token of the mail.').example(example)
const password = newPassword(MIN_LENGTH.person).deferred()
const usernameInput = {
  username: b.email().describe('The new e-mail address.').example('ada.new@example.com').deferred(),
  password: b
    .text({ format: 'password' })
    .describe('The password of the person.')
    .example('correct horse battery staple'),
}
const confirmationInput = { token: tokenOf(USERNAME_TOKEN) }
const mailAddress = emailAddress.refine((text, reject) =>
  isMailAddress(text) ? text : reject('must be an e-mail address'),
)
const addressed = (names: NameReach) => ({
  email: mailAddress,
  ...placeMembersFor(names),
})
const resetInput = { token: tokenOf(RESET_TOKEN), password }
const verifyInput = { token: tokenOf(SIGN_UP_TOKEN), password }

export type AddressedInput = ValuesOf<ReturnType<typeof addressed>>
export type TokenInput = ValuesOf<typeof resetInput>
export type UsernameInput = ValuesOf<typeof usernameInput>
export type ConfirmationInput = ValuesOf<typeof confirmationInput>

const BOTH_ALIKE = 'The response is the same for an address with and without an account.'

/** The operations of a service whose people reset their password by mail. */
export const passwordMailOperations = (names: NameReach) => ({
  forgot: operation('POST /auth/password/forgot', {
    id: 'request_password_reset',
    summary: 'Send a mail with which a person chooses a new password',
    description: BOTH_ALIKE,
    input: addressed(names),
    bodyCode: 'invalid_request',
    status: 202,
    errors: [...placeErrors(names), 'overloaded'],
  }),
  reset: operation('POST /auth/password/reset', {
    id: 'reset_password',
    summary: 'Set a new password with the token of a mail',
    description: 'All sessions of the person end.',
    input: resetInput,
    bodyCode: 'invalid_request',
    errors: ['invalid_grant', 'validation_failed', 'customer_suspended'],
  }),
})

/** The operations of a service whose people sign in with an e-mail address, and change it. */
export const usernameOperations = {
  request: operation('POST /auth/username', {
    id: 'request_username_change',
    summary: 'Send a mail with which a person changes the own sign-in name',
    description:
      'The mail goes to the new address; until its token is used, nothing changes. ' +
      'The response is the same for a name that is free and for one that is taken.',
    input: usernameInput,
    bodyCode: 'invalid_request',
    status: 202,
    errors: ['invalid_credentials', 'validation_failed', 'first_party_required', 'overloaded'],
  }),
  confirm: operation('POST /auth/username/confirm', {
    id: 'confirm_username',
    summary: 'Change the sign-in name with the token of a mail',
    description:
      'The row, its event and the sign-in change together. The former address gets a mail, ' +
      'open password resets end, and so do all sessions except the one of the request.',
    input: confirmationInput,
    bodyCode: 'invalid_request',
    errors: ['invalid_grant', 'conflict', 'validation_failed', 'customer_suspended'],
  }),
}

/**
 * The operations of a service with sign-up.
 *
 * @param row the fields of the resource whose rows sign in
 * @param accepted the fields that a stranger sets
 */
export const signUpOperations = (
  row: FieldSpecs,
  accepted: ReadonlySet<string>,
  names: NameReach,
) => ({
  signUp: operation('POST /auth/signup', {
    id: 'sign_up',
    summary: 'Sign up with an e-mail address',
    description:
      'A mail follows, with a token for `POST /auth/email/verify`; until then there is no ' +
      `account. ${BOTH_ALIKE}`,
    input: {
      ...rowMembers(
        Object.fromEntries(Object.entries(row).filter(([name]) => accepted.has(name))),
        'create',
      ),
      ...placeMembersFor(names),
    },
    validates: false,
    status: 202,
    errors: [...placeErrors(names), 'overloaded'],
  }),
  verify: operation('POST /auth/email/verify', {
    id: 'verify_email',
    summary: 'Create the account of a sign-up with the token of its mail',
    description: 'The person chooses the password here, and signs in with `POST /auth/login`.',
    input: verifyInput,
    bodyCode: 'invalid_request',
    errors: ['invalid_grant', 'validation_failed', 'conflict', 'customer_suspended'],
  }),
  resend: operation('POST /auth/email/resend', {
    id: 'resend_verification',
    summary: 'Send the mail of a sign-up again',
    description: BOTH_ALIKE,
    input: addressed(names),
    bodyCode: 'invalid_request',
    status: 202,
    errors: [...placeErrors(names), 'overloaded'],
  }),
})

/** The name in the payload of a mail that waits. */
export interface MailedName {
  readonly folded: string
  readonly namespace: number
}

/** Returns the 401 of a token that is unknown, expired or used. */
export const invalidMailToken = (): Failure => new Failure('invalid_grant')

interface RequestedMailJob {
  readonly kind: RequestedMail
  readonly mail: Parameters<MailOutbox['enqueue']>[2]
  readonly hasAccount: boolean
}

/**
 * Enqueues the mail of a request. Mail of an account waits for none that clients without one cause:
 * that has a queue of its own. Throws `overloaded`, also for a reset of an address without an
 * account, by the queue of those with one: the response is the same.
 */
async function enqueueRequested(
  tx: Tx,
  outbox: MailOutbox,
  { kind, mail, hasAccount }: RequestedMailJob,
): Promise<void> {
  const isSignUp = kind === 'sign_up' || kind === 'sign_up_again'
  const queue = isSignUp ? 'stranger_mail' : 'mail'
  if (await outbox.isFull(tx, queue)) {
    const detail = `the queue ${queue} of mail is full`
    throw new Failure('overloaded', undefined, { headers: { 'retry-after': '60' }, detail })
  }
  const job = kind === 'password_reset' && !hasAccount ? 'stranger_mail' : queue
  if (job !== queue && (await outbox.isFull(tx, job))) return
  await outbox.enqueue(tx, kind, { ...mail, job })
}

/** Returns the person, or the address block of the client, for the turns of the mail. */
const callerOf = ({ principal, address }: Call): JobCaller =>
  principal ? jobCallerOf(principal) : { name: `address ${addressBlock(address)}`, isPerson: true }

/**
 * Counts a request for mail and enqueues the mail; `record` runs in the same transaction. Throws
 * `rate_limited`, `overloaded`.
 */
export async function acceptMailRequest(
  call: Call,
  { admin, vault, outbox, context }: AccountMailDeps,
  email: string,
  place: SignInPlace,
  kind: RequestedMail,
  payload: object,
  record?: (tx: Tx) => Promise<void>,
): Promise<Answer> {
  const { resource, names } = context.directory
  const namespace = await findNamespace(admin.db, names, place)
  const name = JSON.stringify([namespace.key, foldName(email)])
  const request = { name, address: call.address, kind }
  const caller = callerOf(call)
  const verdict = await writeFor(
    call,
    admin.db,
  )(async (tx) => {
    const verdict = await countMailRequest(tx, vault, request, admin.clock.now())
    if (verdict.kind === 'send') {
      const account = await store.findByName(tx, resource, namespace.no, foldName(email))
      const scope = scopeOfNamespace(namespace.no) ?? (account?.scope as Scope | undefined)
      const mail = { scope, payload: { ...payload, namespace: namespace.no }, caller }
      await enqueueRequested(tx, outbox, { kind, mail, hasAccount: account !== undefined })
    }
    if (verdict.kind !== 'rejected') await record?.(tx)
    return verdict
  })
  if (verdict.kind === 'rejected') throw tooMuchMail(verdict.waitMs)
  return { status: 202 }
}
