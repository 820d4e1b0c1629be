/**
 * Refresh tokens as text, and the meaning of a presented one (§4.2). Pure.
 *
 * Format: `grt_`, session id (22 characters), secret (43: 256 bits), tag (22). The tag is an HMAC
 * over the rest. It identifies each token that this server ever issued, so a session needs one row
 * instead of one per token. Knowledge of a session id alone is not enough to revoke the session.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../kernel/random.ts'
import { type MacKeys, sha256, Vault } from '../../kernel/secret.ts'

/** The purpose of the HMAC keys. */
export const TAG_PURPOSE = 'refresh token'

const PREFIX = 'grt_'
const SESSION_PREFIX = 'ses_'
const SECRET_BYTES = 32
const TAG_CHARACTERS = 22
const FORMAT = /^grt_([0-9A-Za-z]{22})([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{22})$/
/** How long after a rotation a second use counts as a concurrent request (§4.2). */
const RACE_MS = 5_000
const SUCCESSOR_PURPOSE = 'successor'

const computeTag = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url').slice(0, TAG_CHARACTERS)

/** Creates a token for a session, whose id comes from `createTimeOrderedId('ses_', …)`. */
export function createRefreshToken(key: KeyObject, random: Random, sessionId: string): string {
  const secret = random.bytes(SECRET_BYTES).toString('base64url')
  const text = PREFIX + sessionId.slice(SESSION_PREFIX.length) + secret
  return text + computeTag(key, text)
}

/** Returns the session id of a token; undefined if this server did not issue it. */
export function parseSessionId(keys: MacKeys, token: string): string | undefined {
  const match = FORMAT.exec(token)
  if (!match) return undefined
  const [, session, , tag] = match as unknown as [string, string, string, string]
  const text = token.slice(0, -TAG_CHARACTERS)
  const verifies = (key: KeyObject) =>
    timingSafeEqual(Buffer.from(tag), Buffer.from(computeTag(key, text)))
  return keys.accepted.some(verifies) ? SESSION_PREFIX + session : undefined
}

/** Hashes a token for storage. */
export const hashToken = sha256

/** The columns of a session that rotation depends on; times are epoch milliseconds. */
export interface RotationState {
  /** Null without a refresh token. */
  readonly token_hash: Uint8Array | null
  readonly previous_hash: Uint8Array | null
  readonly created_at: number
  readonly rotated_at: number | null
  readonly expires_at: number
}

/**
 * The meaning of a presented token:
 * - `current`: it is the current token, and rotates.
 * - `race`: it was rotated less than 5 s ago and its successor is unused.
 * - `grace`: the same, within the grace period that the operator configured.
 * - `reuse`: it was rotated earlier than that, or its successor was used.
 * - `restored`: the session was neither created nor rotated since its data was restored, which
 *   lacks the tokens of later rotations: an old token and a newer one look the same (§18.5).
 * - `expired`: its session has expired.
 */
export type RefreshTokenVerdict = 'current' | 'race' | 'grace' | 'reuse' | 'restored' | 'expired'

interface RotationContext {
  readonly nowMs: number
  readonly graceMs: number
  /** When the data of the installation was restored; undefined: never. */
  readonly restoredMs?: number | undefined
}

/** Classifies the token with the given hash, which this server issued for the session. */
export function classifyRefreshToken(
  session: RotationState,
  hash: Buffer,
  { nowMs, graceMs, restoredMs = Number.NEGATIVE_INFINITY }: RotationContext,
): RefreshTokenVerdict {
  if (session.expires_at <= nowMs) return 'expired'
  if (session.token_hash && hash.equals(session.token_hash)) return 'current'
  // The use of a successor overwrites `previous_hash`, so a match implies that it is unused.
  if (!session.previous_hash || !hash.equals(session.previous_hash)) {
    return (session.rotated_at ?? session.created_at) <= restoredMs ? 'restored' : 'reuse'
  }
  const elapsedMs = nowMs - (session.rotated_at ?? 0)
  if (elapsedMs < graceMs) return 'grace'
  return elapsedMs < RACE_MS ? 'race' : 'reuse'
}

/** Encrypts the successor under a key derived from the token that it replaces (§4.2). */
export const encryptSuccessor = (
  token: string,
  sessionId: string,
  successor: string,
  random: Random,
): Buffer => new Vault(token, random).encrypt(SUCCESSOR_PURPOSE, sessionId, successor)

export const decryptSuccessor = (
  token: string,
  sessionId: string,
  encrypted: Uint8Array,
  random: Random,
): string => new Vault(token, random).decrypt(SUCCESSOR_PURPOSE, sessionId, encrypted).toString()
