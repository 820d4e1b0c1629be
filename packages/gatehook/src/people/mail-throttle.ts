/**
 * Limits the mail that strangers cause (§4.9): 5 mails per e-mail address and 30 per address of a
 * client in a sliding hour, on all nodes together. An e-mail address counts whether or not it has
 * an account.
 */
import { createHmac } from 'node:crypto'
import { addressBlock } from '../kernel/address.ts'
import { Failure } from '../kernel/failure.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Tx } from '../storage/database.ts'
import { prepareStatement } from '../storage/sql.ts'
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

/**
 * Counts a request for mail. Returns 0, or the milliseconds until the next request is allowed; such
 * a request is not counted.
 */
export async function countMailRequest(
  tx: Tx,
  vault: Vault,
  { folded, address }: { readonly folded: string; readonly address: string },
  nowMs: number,
): Promise<number> {
  const hash = createHmac('sha256', vault.key(THROTTLE_PURPOSE)).update(folded).digest('base64url')
  const counters = [
    { subject: `mail:${hash}`, limit: MAIL_LIMITS.email },
    { subject: `mail-address:${addressBlock(address)}`, limit: MAIL_LIMITS.address },
  ]
  const times: number[][] = []
  for (const { subject, limit } of counters) {
    const row = await tx.get<{ attempts: string }>(lockCounter([subject, nowMs + WINDOW_MS]))
    const recent = (JSON.parse(row?.attempts ?? '[]') as number[]).filter(
      (at) => at > nowMs - WINDOW_MS,
    )
    if (recent.length >= limit) return recent.at(-limit)! + WINDOW_MS - nowMs
    times.push(recent)
  }
  for (const [index, { subject }] of counters.entries()) {
    await tx.run(updateAttempts([JSON.stringify([...times[index]!, nowMs]), subject]))
  }
  return 0
}

/** Returns the 429 of too many requests for mail. */
export const tooMuchMail = (waitMs: number): Failure =>
  new Failure('rate_limited', 'Too many mails were requested. Wait, then retry.', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) },
  })
