/**
 * Sign-up of strangers (§4.9), in the order in which it happens:
 *
 * 1. `signUp` validates the fields of `POST /auth/signup` and enqueues a mail.
 * 2. `signUpTemplates` sends a token to the address, or a notice to the account that has it.
 * 3. `verifyEmail` exchanges the token and a password for the account: its row and its credential.
 *
 * The holder of the address chooses the password, not the stranger who typed the address.
 */

import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { type Mode, modeOf } from '../../kernel/principal.ts'
import type { AddressedMail, MailTemplates } from '../../platform/mail/mailer.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { invalidMembers, readMembers } from '../../protocol/fields/body.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { pointerPart } from '../../protocol/fields/reading.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { DEFAULT_CUSTOMER } from '../access/administration.ts'
import { findCustomerIdOf } from '../access/customer-reader.ts'
import { holdCustomerScope } from '../access/grant-validation.ts'
import { findCustomer } from '../access/store.ts'
import {
  type AccountMailDeps,
  type AddressedInput,
  acceptMailRequest,
  invalidMailToken,
  type MailedName,
  type TokenInput,
} from './account-mail.ts'
import { type MailWording, writeMail } from './mail-texts.ts'
import { exchangeMailToken } from './mail-token-exchange.ts'
import {
  findNewestSignUp,
  insertMailToken,
  type MailTokenRow,
  TOKEN_LIFE_MINUTES,
} from './mail-tokens.ts'
import { isKnown, placeMembersFor, type SignInPlace, scopeOfNamespace } from './namespace.ts'
import type { Directory, DirectoryRow } from './person.ts'
import { insertCredential } from './person-administration.ts'
import * as store from './store.ts'

const validMinutes = TOKEN_LIFE_MINUTES

/** Returns the fields that a stranger sets. */
export const signUpFields = ({ username, signUp }: Directory): ReadonlySet<string> =>
  new Set([username, ...(signUp?.fields ?? [])])

/** A sign-up, in the payload of a mail that waits. */
interface PendingSignUp {
  readonly body: DirectoryRow
  readonly namespace: number
}

/** Reads the body of a sign-up; throws 422 with every mistake. */
function readSignUp(
  directory: Directory,
  input: unknown,
): { readonly body: DirectoryRow; readonly email: string; readonly place: SignInPlace } {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidMembers([{ pointer: '', code: 'invalid_value', message: 'must be an object' }])
  }
  const placeMembers = placeMembersFor(directory.names)
  const isPlace = (name: string) => Object.hasOwn(placeMembers, name)
  const entries = Object.entries(input)
  const members = Object.keys(input).filter((name) => !isPlace(name))
  const names = directory.signUpForms.namesFor(members)
  const body = Object.fromEntries(entries.filter(([name]) => names.has(name)))
  const errors: FieldError[] = entries
    .filter(([name]) => !names.has(name) && !isPlace(name))
    .map(([name]) => ({
      pointer: `/${pointerPart(name)}`,
      code: 'unknown_field',
      message: 'is not a field of a sign-up',
    }))
  /** The address that the account will have: a version may have its name for another field. */
  let email: unknown
  try {
    email = directory.signUpForms.read(body)[directory.username]
    if (typeof email !== 'string' || !isMailAddress(email)) {
      const message = 'must be an e-mail address'
      errors.push({ pointer: `/${directory.username}`, code: 'invalid_value', message })
    }
  } catch (error) {
    if (!(error instanceof Failure) || !error.errors) throw error
    errors.push(...error.errors)
  }
  let place: SignInPlace = {}
  try {
    place = readMembers(Object.fromEntries(entries.filter(([name]) => isPlace(name))), placeMembers)
  } catch (error) {
    if (!(error instanceof Failure) || !error.errors) throw error
    errors.push(...error.errors)
  }
  if (errors.length > 0) throw invalidMembers(errors)
  return { body, email: String(email), place }
}

/**
 * Reads a stored sign-up. Undefined for the body of another release that no version converts: the
 * request has none of its fields.
 */
function readStored({ username, signUpForms }: Directory, body: DirectoryRow) {
  try {
    const values = signUpForms.read(body)
    return { values, name: String(values[username]) }
  } catch (error) {
    if (error instanceof Failure && error.errors) return undefined
    throw error
  }
}

/** Handles `POST /auth/signup`. */
export function signUp(call: Call, deps: AccountMailDeps): Promise<Answer> {
  const { directory } = deps.context
  const { body, email, place } = readSignUp(directory, call.body)
  return acceptMailRequest(call, deps, email, place, 'sign_up', { body })
}

/** Handles `POST /auth/email/resend`. */
export const resendVerification = (
  call: Call,
  { email, ...place }: AddressedInput,
  deps: AccountMailDeps,
): Promise<Answer> =>
  acceptMailRequest(call, deps, email, place, 'sign_up_again', { folded: foldName(email) })

/** Creates the mails of sign-ups. */
export function signUpTemplates(deps: AccountMailDeps, wording: MailWording): MailTemplates {
  const { directory } = deps.context
  const { resource } = directory
  const write = async (
    tx: Parameters<typeof insertMailToken>[0],
    { body, namespace }: PendingSignUp,
    nowMs: number,
  ): Promise<AddressedMail | undefined> => {
    const email = readStored(directory, body)?.name
    // An unknown customer has no accounts.
    if (!isKnown(namespace) || email === undefined) return undefined
    const folded = foldName(email)
    const account = await store.findByName(tx, resource, namespace, folded)
    if (account) {
      if (account.disabled !== 0 || account.suspended !== 0) return undefined
      // To the stored address: another spelling may be another mailbox.
      return writeMail(wording, 'existingAccount', { email: account.username, validMinutes })
    }
    const row = { purpose: 'sign_up', resource, folded, namespace, person: null } as const
    const stored = { ...row, revision: null, body: JSON.stringify(body) }
    const token = await insertMailToken(tx, deps.admin.random, stored, nowMs)
    return writeMail(wording, 'verifyEmail', { email, token, validMinutes })
  }
  return {
    sign_up: (tx, pending: PendingSignUp, nowMs) => write(tx, pending, nowMs),
    async sign_up_again(tx, { folded, namespace }: MailedName, nowMs) {
      const pending = await findNewestSignUp(tx, { resource, namespace, folded }, nowMs)
      const body = pending && (JSON.parse(pending.body!) as DirectoryRow)
      return body && write(tx, { body, namespace }, nowMs)
    },
  }
}

/** Returns where a sign-up creates its row. */
async function findPlace(tx: Tx, namespace: number): Promise<{ customer: string; mode: Mode }> {
  const scope = scopeOfNamespace(namespace)
  if (scope === undefined) return { customer: DEFAULT_CUSTOMER, mode: 'live' }
  return { customer: (await findCustomerIdOf(tx, scope))!, mode: modeOf(scope) }
}

/** Handles `POST /auth/email/verify`: creates the row and its credential. */
export function verifyEmail(call: Call, input: TokenInput, deps: AccountMailDeps): Promise<Answer> {
  const { admin, context } = deps
  const { directory, defaultScopes } = context
  const scopes = directory.signUp?.scopes ?? defaultScopes
  /** The mail confirms the address that received it, whatever a release reads in the body. */
  const accountOf = ({ body, folded }: MailTokenRow) => {
    const account = readStored(directory, JSON.parse(body!) as DirectoryRow)
    if (!account || foldName(account.name) !== folded) throw invalidMailToken()
    return account
  }
  return exchangeMailToken(input, deps, {
    purpose: 'sign_up',
    nameOf: (pending) => accountOf(pending).name,
    async change(tx, pending, hash) {
      const { customer, mode } = await findPlace(tx, pending.namespace)
      if ((await findCustomer(tx, customer))?.suspended) throw new Failure('customer_suspended')
      const scope = await holdCustomerScope(tx, customer, mode)
      const { values, name } = accountOf(pending)
      const row = await directory.create(tx, scope, values)
      const { id } = await insertCredential(tx, admin, context, scope, row, {
        confirmed: 1,
        customer,
        mode,
        password: hash,
        role: null,
        scopes,
      })
      const person = { kind: 'person', id: String(id), name, scope } as const
      const actor = actorOf(call, person)
      const detail = { customer, mode, scopes }
      await recordAudit(tx, { actor, action: 'person.sign_up', target: String(id), detail }, admin)
    },
  })
}
