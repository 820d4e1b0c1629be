/**
 * Limits the mail that strangers cause (§4.9), in a sliding hour, on all nodes together. An e-mail
 * address has a budget for each purpose: 5 mails for the requests of one client, 10 for those of
 * all. So it receives at most 30, and no request for one purpose takes mail from another. It counts
 * whether or not it has an account. Beyond a limit no mail is sent, and the response is the same:
 * 429 would let a stranger block the password reset of a person. The address of a client has 30
 * requests.
 */

import { createHmac } from 'node:crypto'
import { addressBlock } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import { retryAfterS } from '../../kernel/time.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { isInWindow, THROTTLE_PURPOSE } from './throttle.ts'

const WINDOW_MS = 3_600_000
const MAIL_LIMITS = { emailByClient: 5, email: 10, client: 30 } as const

/** The budget of each kind of mail that a request causes. */
const BUDGETS = {
  sign_up: 'sign_up',
  sign_up_again: 'sign_up',
  password_reset: 'password_reset',
  username: 'username',
} as const

export type RequestedMail = keyof typeof BUDGETS

/** A counted request: its time, and the address block of its client. */
type CountedRequest = readonly [atMs: number, client: string]

/** Locks the counter until the transaction ends. The table is that of failed passwords. */
const lockCounter = prepareStatement(
  `INSERT INTO gh_throttle (subject, expires_at) VALUES (?, ?)
   ON CONFLICT (subject) DO UPDATE SET expires_at = excluded.expires_at
   RETURNING attempts`,
)
const updateAttempts = prepareStatement('UPDATE gh_throttle SET attempts = ? WHERE subject = ?')

/** Whether a request for mail sends one. `rejected`: the client has sent too many requests. */
type MailVerdict =
  | { readonly kind: 'send' | 'omit' }
  | { readonly kind: 'rejected'; readonly waitMs: number }

interface MailRequest {
  /** The e-mail address, with the customer whose names it belongs to. */
  readonly name: string
  /** The network address of the client. */
  readonly address: string
  readonly kind: RequestedMail
}

/** Counts a request for mail; an e-mail address counts sent mail only. */
export async function countMailRequest(
  tx: Tx,
  vault: Vault,
  { name, address, kind }: MailRequest,
  nowMs: number,
): Promise<MailVerdict> {
  const hash = createHmac('sha256', vault.key(THROTTLE_PURPOSE)).update(name).digest('base64url')
  const client = addressBlock(address)
  const [emailCounter, clientCounter] = [`mail:${BUDGETS[kind]}:${hash}`, `mail-address:${client}`]
  const mails = await lockRecent(tx, emailCounter, nowMs)
  const requests = await lockRecent(tx, clientCounter, nowMs)
  if (requests.length >= MAIL_LIMITS.client) {
    const [oldestMs] = requests.at(-MAIL_LIMITS.client)!
    return { kind: 'rejected', waitMs: oldestMs + WINDOW_MS - nowMs }
  }
  const request: CountedRequest = [nowMs, client]
  await tx.run(updateAttempts([JSON.stringify([...requests, request]), clientCounter]))
  const own = mails.filter((mail) => mail[1] === client)
  if (mails.length >= MAIL_LIMITS.email || own.length >= MAIL_LIMITS.emailByClient) {
    return { kind: 'omit' }
  }
  await tx.run(updateAttempts([JSON.stringify([...mails, request]), emailCounter]))
  return { kind: 'send' }
}

/** Locks a counter, and returns its requests of the last hour. */
async function lockRecent(tx: Tx, subject: string, nowMs: number): Promise<CountedRequest[]> {
  const row = await tx.get<{ attempts: string }>(lockCounter([subject, nowMs + WINDOW_MS]))
  const requests = JSON.parse(row?.attempts ?? '[]') as CountedRequest[]
  return requests.filter(([atMs]) => isInWindow(atMs, nowMs, WINDOW_MS))
}

/** Returns the 429 of too many requests for mail. */
export const tooMuchMail = (waitMs: number): Failure =>
  new Failure('rate_limited', 'Too many mails were requested. Wait, then retry.', {
    headers: { 'retry-after': String(retryAfterS(waitMs)) },
  })
