/**
 * Authorization codes (§5.3): 256 bits, stored as SHA-256, valid for 60 s and one exchange. The row
 * outlives the code, so that the server detects reuse.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Random } from '../../kernel/random.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'

const LIFETIME_MS = 60_000
/** How long after its expiry the reuse of a code still revokes its session. */
export const CODE_RETENTION_MS = 24 * 3_600_000
const CODE_BYTES = 32

/** The grant of a code, and the request that its exchange must match. */
interface CodeGrant {
  readonly clientId: string
  readonly scope: Scope
  readonly subject: string
  readonly redirectUri: string
  readonly challenge: string
  readonly scopes: readonly string[]
  /** The resources that the request named; undefined: the standard audience. */
  readonly audience: readonly string[] | undefined
  /** When the person signed in, in epoch milliseconds. */
  readonly authenticatedAt: number
  readonly nonce: string | undefined
  /** The person's revision at the time of the consent. */
  readonly revision: number
}

/** Stores a new code and returns its text. */
export async function issueCode(
  tx: Tx,
  grant: CodeGrant,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<string> {
  const code = random.bytes(CODE_BYTES).toString('base64url')
  await tx.run(sql`INSERT INTO gh_oauth_codes (hash, client_id, scope, subject, redirect_uri,
    challenge, scopes, audience, authenticated_at, nonce, revision, expires_at)
    VALUES (${sha256(code)}, ${grant.clientId}, ${grant.scope}, ${grant.subject},
            ${grant.redirectUri}, ${grant.challenge}, ${JSON.stringify(grant.scopes)},
            ${grant.audience ? JSON.stringify(grant.audience) : null},
            ${grant.authenticatedAt}, ${grant.nonce ?? null},
            ${grant.revision}, ${clock.now() + LIFETIME_MS})`)
  return code
}

interface CodeRow extends Row {
  readonly client_id: string
  readonly scope: number
  readonly subject: string
  readonly redirect_uri: string
  readonly challenge: string
  readonly scopes: string
  readonly audience: string | null
  readonly authenticated_at: number
  readonly nonce: string | null
  readonly revision: number
  readonly expires_at: number
  readonly used_at: number | null
  /** The session that its exchange opened. */
  readonly session_id: string | null
}

export const findCode = (from: Reader, hash: Uint8Array) =>
  from.get<CodeRow>(sql`SELECT client_id, scope, subject, redirect_uri, challenge, scopes, audience,
    revision, expires_at, used_at, session_id FROM gh_oauth_codes WHERE hash = ${hash}`)

/** Returns the resources that the request of a code named; undefined if it named none. */
export const audienceOf = ({ audience }: CodeRow): readonly string[] | undefined =>
  audience === null ? undefined : JSON.parse(audience)

/** A token request with a code, as far as it must match the stored code. */
export interface CodeExchange
  extends Pick<CodeGrant, 'clientId' | 'scope' | 'redirectUri' | 'challenge'> {
  readonly hash: Uint8Array
}

/** Returns whether an exchange can redeem a code that was read before. */
export const isRedeemable = (row: CodeRow, exchange: CodeExchange, nowMs: number): boolean =>
  row.used_at === null &&
  row.expires_at > nowMs &&
  row.client_id === exchange.clientId &&
  row.scope === exchange.scope &&
  row.redirect_uri === exchange.redirectUri &&
  row.challenge === exchange.challenge

/**
 * `IS TRUE` hides scope and client: by their index, PostgreSQL without statistics would read all
 * codes of the client instead of the one with the hash.
 */
const redeem = prepareStatement(
  `UPDATE gh_oauth_codes SET used_at = ?, session_id = ?
   WHERE hash = ? AND used_at IS NULL AND expires_at > ?
   AND (scope = ? AND client_id = ? AND redirect_uri = ? AND challenge = ?) IS TRUE
   RETURNING scopes, audience, authenticated_at, nonce`,
)

type RedeemedCode = Pick<CodeGrant, 'scopes' | 'audience' | 'authenticatedAt' | 'nonce'>

/**
 * Marks a code as used and returns its grant. Returns undefined and writes nothing if the code is
 * unknown, used or expired, or does not match. One statement decides, so one of two concurrent
 * exchanges succeeds.
 */
export async function redeemCode(
  tx: Tx,
  { hash, clientId, scope, redirectUri, challenge }: CodeExchange,
  sessionId: string,
  nowMs: number,
): Promise<RedeemedCode | undefined> {
  const values = [nowMs, sessionId, hash, nowMs, scope, clientId, redirectUri, challenge]
  const row = await tx.get<CodeRow>(redeem(values))
  if (!row) return undefined
  const { authenticated_at: authenticatedAt } = row
  const nonce = row.nonce ?? undefined
  return { authenticatedAt, nonce, scopes: JSON.parse(row.scopes), audience: audienceOf(row) }
}

/** Detaches the session of a reused code. Returns false if an earlier reuse did. */
export const detachSession = async (tx: Tx, hash: Uint8Array): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_oauth_codes SET session_id = NULL
    WHERE hash = ${hash} AND session_id IS NOT NULL`)) === 1

/** Deletes the codes of a person and client that were not exchanged yet. */
export const deleteCodes = (tx: Tx, scope: Scope, subject: string, clientId: string) =>
  tx.run(sql`DELETE FROM gh_oauth_codes WHERE scope = ${scope} AND subject = ${subject}
    AND client_id = ${clientId} AND used_at IS NULL`)
