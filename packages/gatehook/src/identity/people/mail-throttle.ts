/**
 * Limits the mail that strangers cause (§4.9): 5 mails per e-mail address and 30 per address of a
 * client in a sliding hour, on all nodes together. An e-mail address counts whether or not it has
 * an account. Beyond its limit no mail is sent, and the response is the same: 429 would let a
 * stranger block the password reset of a person.
 */
import { createHmac } from 'node:crypto'
import { addressBlock } from '../../kernel/address.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { THROTTLE_PURPOSE } from './throttle.ts'

const WINDOW_MS = 3_600_000
const MAIL_LIMITS = { email: 5, address: 30 } as const

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

/**
 * Counts a request for mail; an e-mail address counts sent mail only.
 *
 * @param who.name the e-mail address, with the customer whose names it belongs to
 */
export async function countMailRequest(
  tx: Tx,
  vault: Vault,
  { name, address }: { readonly name: string; readonly address: string },
  nowMs: number,
): Promise<MailVerdict> {
  const hash = createHmac('sha256', vault.key(THROTTLE_PURPOSE)).update(name).digest('base64url')
  const [email, client] = [`mail:${hash}`, `mail-address:${addressBlock(address)}`]
  const mails = await lockRecent(tx, email, nowMs)
  const requests = await lockRecent(tx, client, nowMs)
  if (requests.length >= MAIL_LIMITS.address) {
    const waitMs = requests.at(-MAIL_LIMITS.address)! + WINDOW_MS - nowMs
    return { kind: 'rejected', waitMs }
  }
  await tx.run(updateAttempts([JSON.stringify([...requests, nowMs]), client]))
  if (mails.length >= MAIL_LIMITS.email) return { kind: 'omit' }
  await tx.run(updateAttempts([JSON.stringify([...mails, nowMs]), email]))
  return { kind: 'send' }
}

/** Locks a counter, and returns its times of the last hour. */
async function lockRecent(tx: Tx, subject: string, nowMs: number): Promise<number[]> {
  const row = await tx.get<{ attempts: string }>(lockCounter([subject, nowMs + WINDOW_MS]))
  const times = JSON.parse(row?.attempts ?? '[]') as number[]
  return times.filter((at) => at > nowMs - WINDOW_MS)
}

/** Returns the 429 of too many requests for mail. */
export const tooMuchMail = (waitMs: number): Failure =>
  new Failure('rate_limited', 'Too many mails were requested. Wait, then retry.', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) },
  })
