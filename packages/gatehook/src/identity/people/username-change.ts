/**
 * A person changes their own sign-in name (§6.9), in the order in which it happens:
 *
 * 1. `requestUsernameChange` verifies the password and enqueues a mail to the new address. The
 *    response is the same whether or not the name is free.
 * 2. `usernameChangeTemplates` sends a token, or a notice to the account that has the address.
 * 3. `confirmUsername` exchanges the token: the row, its event and the credential change in one
 *    transaction, and the other sessions end. `credential-sync.ts` tells the former address.
 *
 * So the name of a credential is always an address that its holder or an administrator has
 * confirmed: a sign-up, this exchange, and `admin` set it, and no other change does.
 */
import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { MailTemplates } from '../../platform/mail/mailer.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { type Answer, type Call, noContent } from '../../protocol/http/call.ts'
import {
  type AccountMailDeps,
  acceptMailRequest,
  type ConfirmationInput,
  invalidMailToken,
  type MailedName,
  type UsernameInput,
} from './account-mail.ts'
import { peopleAccounts } from './login.ts'
import { type MailWording, writeMail } from './mail-texts.ts'
import {
  deleteMailTokens,
  findMailToken,
  insertMailToken,
  TOKEN_LIFE_MINUTES,
  takeMailToken,
} from './mail-tokens.ts'
import { namespaceOf } from './namespace.ts'
import type { OwnPasswordDeps } from './own-password.ts'
import { type Directory, toPrincipal } from './person.ts'
import * as store from './store.ts'

const validMinutes = TOKEN_LIFE_MINUTES
const PURPOSE = 'username'

/** The change that a mail confirms. */
interface UsernameChange {
  readonly person: number
  /** The revision of the credential whose password was verified. */
  readonly revision: number
  readonly username: string
  /** The session that continues; null for Basic. */
  readonly session: string | null
}

export type UsernameChangeDeps = AccountMailDeps &
  Pick<OwnPasswordDeps, 'devices' | 'verifyPassword'>

/** Validates a new sign-in name as the resource does. Throws 422. */
function readUsername(directory: Directory, text: string): string {
  try {
    const username = directory.readUsername(text)
    if (isMailAddress(username)) return username
  } catch (error) {
    if (!(error instanceof Failure) || !error.errors) throw error
    throw invalidMembers(error.errors.map((mistake) => ({ ...mistake, pointer: '/username' })))
  }
  const message = 'must be an e-mail address'
  throw invalidMembers([{ pointer: '/username', code: 'invalid_value', message }])
}

/** Handles `POST /auth/username`. `route-table.ts` accepts first-party sessions only. */
export async function requestUsernameChange(
  call: Call,
  input: UsernameInput,
  deps: UsernameChangeDeps,
): Promise<Answer> {
  const { admin, context, devices, verifyPassword } = deps
  const { resource, names } = context.directory
  const { scope, subject, sessionId: session = null } = call.principal!
  const username = readUsername(context.directory, input.username)
  const account = await store.findById(admin.db, resource, Number(subject))
  if (!account) throw new Failure('forbidden')
  const accounts = peopleAccounts(admin.db, resource, namespaceOf(names, scope))
  const client = devices.clientOf(call)
  const verified = await verifyPassword(accounts, account.username, input.password, client)
  const { id: person, revision } = verified
  const change: UsernameChange = { person, revision, username, session }
  return acceptMailRequest(call, deps, username, { scope }, PURPOSE, change, async (tx) => {
    const entry = { actor: actorOf(call), action: 'person.request_rename', target: subject }
    await recordAudit(tx, entry, admin)
  })
}

/** Creates the mails of changed sign-in names. */
export function usernameChangeTemplates(
  deps: AccountMailDeps,
  wording: MailWording,
): MailTemplates {
  const { resource } = deps.context.directory
  return {
    async [PURPOSE](
      tx,
      { namespace, ...change }: UsernameChange & Pick<MailedName, 'namespace'>,
      nowMs,
    ) {
      const { person, revision, username } = change
      const account = await store.findById(tx, resource, person)
      if (account?.revision !== revision || account.disabled !== 0 || account.suspended !== 0) {
        return undefined
      }
      const folded = foldName(username)
      const holder = await store.findByName(tx, resource, namespace, folded)
      if (holder && holder.id !== person) {
        if (holder.disabled !== 0 || holder.suspended !== 0) return undefined
        return writeMail(wording, 'existingAccount', { email: holder.username, validMinutes })
      }
      const body = JSON.stringify(change)
      const row = { purpose: PURPOSE, resource, folded, namespace, person, revision, body } as const
      const token = await insertMailToken(tx, deps.admin.random, row, nowMs)
      return writeMail(wording, 'confirmUsername', { email: username, token, validMinutes })
    },
    username_changed: async (_tx, { email }: { readonly email: string }) =>
      writeMail(wording, 'usernameChanged', { email, validMinutes }),
  }
}

/** Handles `POST /auth/username/confirm`. Of concurrent requests with one token, one succeeds. */
export async function confirmUsername(
  call: Call,
  { token }: ConfirmationInput,
  { admin, context }: AccountMailDeps,
): Promise<Answer> {
  const { db, clock } = admin
  const { directory } = context
  const { resource } = directory
  const grant = await findMailToken(db, PURPOSE, resource, token, clock.now())
  if (!grant) throw invalidMailToken()
  const { person, revision, username, session } = JSON.parse(grant.body!) as UsernameChange
  const change = async (tx: Parameters<typeof takeMailToken>[0]): Promise<void> => {
    if ((await takeMailToken(tx, token, clock.now())) === 0) throw invalidMailToken()
    await store.lockCredential(tx, resource, person)
    const account = await store.findById(tx, resource, person)
    // A new password, name, role or scope changes the revision.
    if (account?.revision !== revision || account.disabled !== 0) throw invalidMailToken()
    if (account.suspended !== 0) throw new Failure('customer_suspended')
    const principal = { ...toPrincipal(account), ...(session !== null && { sessionId: session }) }
    const target = String(person)
    const { username: name, scope } = account
    const actor = actorOf(call, { kind: 'person', id: target, name, scope })
    await directory.rename(tx, principal, person, username, actor)
    await store.confirmName(tx, { resource, id: person })
    await deleteMailTokens(tx, grant)
  }
  // The rules of the resource run in the transaction.
  await db.write(change, { serializable: true })
  return noContent()
}
