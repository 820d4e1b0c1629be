/**
 * A refresh token as text, and what a sent one means for its session (§4.2). Pure.
 *
 * `grt_` session (22) secret (43: 256 bits) mark (22). The mark is an HMAC over what stands before
 * it. It tells a token that once was ours from any other, so that a session needs one row, not one
 * for each token it ever had, and nobody who has only seen a session's id can end it.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Random } from '../kernel/random.ts'
import { type MacKeys, sha256, Vault } from '../kernel/secret.ts'

/** The keys of marks. */
export const MARK_PURPOSE = 'refresh token'

const PREFIX = 'grt_'
const SESSION_PREFIX = 'ses_'
const SECRET_BYTES = 32
const MARK_CHARACTERS = 22
const FORM = /^grt_([0-9A-Za-z]{22})([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{22})$/
/** So long a second use may be two requests at once, not a thief (§4.2). */
const RACE_MS = 5_000
const SUCCESSOR = 'successor'

const markOf = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url').slice(0, MARK_CHARACTERS)

/** A new token of a session; `sessionId` as `timeOrderedId('ses_', …)` makes it. */
export function newRefreshToken(key: KeyObject, random: Random, sessionId: string): string {
  const secret = random.bytes(SECRET_BYTES).toString('base64url')
  const text = PREFIX + sessionId.slice(SESSION_PREFIX.length) + secret
  return text + markOf(key, text)
}

/** The session a token is, or was, of; undefined where it was never ours. */
export function sessionOf(keys: MacKeys, token: string): string | undefined {
  const match = FORM.exec(token)
  if (!match) return undefined
  const [, session, , mark] = match as unknown as [string, string, string, string]
  const text = token.slice(0, -MARK_CHARACTERS)
  const isSigner = (key: KeyObject) =>
    timingSafeEqual(Buffer.from(mark), Buffer.from(markOf(key, text)))
  return keys.accepted.some(isSigner) ? SESSION_PREFIX + session : undefined
}

/** How tokens are stored. */
export const hashOf = sha256

/** What judging takes of a session's row; times are epoch milliseconds. */
export interface Rotation {
  readonly token_hash: Uint8Array
  readonly previous_hash: Uint8Array | null
  readonly rotated_at: number | null
  readonly expires_at: number
}

/**
 * `rotate`: it is the current one. `race`: the one before, just replaced, its successor unused.
 * `grace`: the same, where the operator lets the successor be told again. `reuse`: any older one.
 * `expired`: the session is over.
 */
export type Verdict = 'rotate' | 'race' | 'grace' | 'reuse' | 'expired'

/** What a token with our mark means for the session it names. */
export function judge(row: Rotation, hash: Buffer, nowMs: number, graceMs: number): Verdict {
  if (row.expires_at <= nowMs) return 'expired'
  if (hash.equals(row.token_hash)) return 'rotate'
  // The one before is known only while its successor is unused: using it puts it in this place.
  if (!row.previous_hash || !hash.equals(row.previous_hash)) return 'reuse'
  const agoMs = nowMs - (row.rotated_at ?? 0)
  if (agoMs < graceMs) return 'grace'
  return agoMs < RACE_MS ? 'race' : 'reuse'
}

/** The successor, to be read by who holds the token it replaces, and by nobody else (§4.2). */
export const sealSuccessor = (
  token: string,
  sessionId: string,
  successor: string,
  random: Random,
): Buffer => new Vault(token, random).seal(SUCCESSOR, sessionId, successor)

export const openSuccessor = (
  token: string,
  sessionId: string,
  sealed: Uint8Array,
  random: Random,
): string => new Vault(token, random).open(SUCCESSOR, sessionId, sealed).toString()
