/**
 * Authorization codes (§5.3): 256 bits, kept as SHA-256, good for 60 seconds and one exchange. The
 * row outlives the code, so that a second use is known for what it is.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Random } from '../kernel/random.ts'
import { sha256 } from '../kernel/secret.ts'
import type { Database, Reader, Row, Tx } from '../storage/database.ts'
import { fixed, sql } from '../storage/sql.ts'

const LIFE_MS = 60_000
/** How long after its end a code's second use still ends what came of the first. */
const REMEMBERED_MS = 24 * 3_600_000
const CODE_BYTES = 32
const PURGED_AT_ONCE = 1000

/** What a code stands for; the exchange must fit all of it. */
export interface CodeGrant {
  readonly clientId: string
  readonly scope: Scope
  readonly subject: string
  readonly redirectUri: string
  readonly challenge: string
  readonly scopes: readonly string[]
  /** Of the person, when it said yes. */
  readonly revision: number
}

/** Writes a new code down and gives its text: the only time it is seen. */
export async function issueCode(
  tx: Tx,
  grant: CodeGrant,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<string> {
  const code = random.bytes(CODE_BYTES).toString('base64url')
  await tx.run(sql`INSERT INTO gh_oauth_codes (hash, client_id, scope, subject, redirect_uri,
    challenge, scopes, revision, expires_at)
    VALUES (${sha256(code)}, ${grant.clientId}, ${grant.scope}, ${grant.subject},
            ${grant.redirectUri}, ${grant.challenge}, ${JSON.stringify(grant.scopes)},
            ${grant.revision}, ${clock.now() + LIFE_MS})`)
  return code
}

interface CodeRow extends Row {
  readonly client_id: string
  readonly scope: number
  readonly subject: string
  readonly redirect_uri: string
  readonly challenge: string
  readonly scopes: string
  readonly revision: number
  readonly expires_at: number
  readonly used_at: number | null
  /** The session its first use began. */
  readonly session_id: string | null
}

export const findCode = (from: Reader, hash: Uint8Array) =>
  from.get<CodeRow>(sql`SELECT client_id, scope, subject, redirect_uri, challenge, scopes, revision,
    expires_at, used_at, session_id FROM gh_oauth_codes WHERE hash = ${hash}`)

/** What is presented with a code: all of it must be the code's. */
export interface Presented
  extends Pick<CodeGrant, 'clientId' | 'scope' | 'redirectUri' | 'challenge'> {
  readonly hash: Uint8Array
}

const use = fixed(
  `UPDATE gh_oauth_codes SET used_at = ?, session_id = ?
   WHERE hash = ? AND used_at IS NULL AND expires_at > ? AND client_id = ? AND scope = ?
   AND redirect_uri = ? AND challenge = ? RETURNING subject, scopes, revision`,
)

/**
 * Uses a code up and gives what it grants; undefined, and nothing has changed, where it is not good
 * for this. One statement decides.
 */
export async function useCode(
  tx: Tx,
  { hash, clientId, scope, redirectUri, challenge }: Presented,
  sessionId: string,
  nowMs: number,
): Promise<Pick<CodeGrant, 'subject' | 'scopes' | 'revision'> | undefined> {
  const values = [nowMs, sessionId, hash, nowMs, clientId, scope, redirectUri, challenge]
  const row = await tx.get<Pick<CodeRow, 'subject' | 'scopes' | 'revision'>>(use(values))
  return row && { ...row, scopes: JSON.parse(row.scopes) }
}

/** The reuse of a code is reported once: false where it was before. */
export const forgetSession = async (tx: Tx, hash: Uint8Array): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_oauth_codes SET session_id = NULL
    WHERE hash = ${hash} AND session_id IS NOT NULL`)) === 1

/** Codes a person gave a client and that were not exchanged yet. */
export const dropCodes = (tx: Tx, scope: Scope, subject: string, clientId: string) =>
  tx.run(sql`DELETE FROM gh_oauth_codes WHERE scope = ${scope} AND subject = ${subject}
    AND client_id = ${clientId} AND used_at IS NULL`)

export const purgeCodes = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) =>
    tx.run(sql`DELETE FROM gh_oauth_codes WHERE hash IN (SELECT hash FROM gh_oauth_codes
      WHERE expires_at <= ${nowMs - REMEMBERED_MS} LIMIT ${PURGED_AT_ONCE})`),
  )
