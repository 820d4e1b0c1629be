/**
 * The tokens that mail carries: of a sign-up, a password reset, and a changed sign-in name. A token
 * is valid once, for an hour. The database has its SHA-256 only.
 */
import type { Random } from '../../kernel/random.ts'
import { sha256 } from '../../kernel/secret.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { insertInto, sql } from '../../platform/storage/sql.ts'

const TOKEN_BYTES = 32
const TOKEN_LIFE_MS = 3_600_000
/** The lifetime as mail names it. */
export const TOKEN_LIFE_MINUTES = TOKEN_LIFE_MS / 60_000

type MailTokenPurpose = 'sign_up' | 'password_reset' | 'username'

/** A token permits one operation: to create an account, to set a password, or to change a name. */
export interface MailTokenRow extends Row {
  readonly purpose: MailTokenPurpose
  readonly resource: string
  /** The folded sign-in name, the new one of a change, and the rows among which it is unique. */
  readonly folded: string
  readonly namespace: number
  /** The id of the person, whose credential has this revision; null for a sign-up. */
  readonly person: number | null
  readonly revision: number | null
  /** The body of a sign-up, or the change of a name, as JSON; null for a password reset. */
  readonly body: string | null
}

type MailTokenName = Pick<MailTokenRow, 'resource' | 'namespace' | 'folded'>

/** Stores a new token and returns its text. */
export async function insertMailToken(
  tx: Tx,
  random: Random,
  row: MailTokenRow,
  nowMs: number,
): Promise<string> {
  const token = random.bytes(TOKEN_BYTES).toString('base64url')
  const times = { created_at: nowMs, expires_at: nowMs + TOKEN_LIFE_MS }
  await tx.run(insertInto('gh_mail_tokens', { hash: sha256(token), ...row, ...times }))
  return token
}

/** Returns the row of a valid token. */
export const findMailToken = (
  from: Reader,
  purpose: MailTokenPurpose,
  resource: string,
  token: string,
  nowMs: number,
) =>
  from.get<MailTokenRow>(sql`SELECT purpose, resource, folded, namespace, person, revision,
    body
    FROM gh_mail_tokens WHERE hash = ${sha256(token)} AND purpose = ${purpose}
    AND resource = ${resource} AND expires_at > ${nowMs}`)

/** Deletes a valid token; 0 if it was used meanwhile: of concurrent requests one gets 1. */
export const takeMailToken = (tx: Tx, token: string, nowMs: number) =>
  tx.run(sql`DELETE FROM gh_mail_tokens WHERE hash = ${sha256(token)} AND expires_at > ${nowMs}`)

/** Deletes all tokens of a sign-in name. */
export const deleteMailTokens = (tx: Tx, { resource, namespace, folded }: MailTokenName) =>
  tx.run(sql`DELETE FROM gh_mail_tokens WHERE resource = ${resource} AND folded = ${folded}
    AND namespace = ${namespace}`)

/** Deletes all tokens of a person, and those of its sign-in name. */
export const deleteMailTokensOf = (
  tx: Tx,
  { resource, namespace, folded, person }: MailTokenName & { readonly person: number },
) =>
  tx.run(sql`DELETE FROM gh_mail_tokens WHERE resource = ${resource}
    AND (person = ${person} OR (folded = ${folded} AND namespace = ${namespace}))`)

/** Returns the newest sign-up of an e-mail address that waits for its confirmation. */
export const findNewestSignUp = (
  from: Reader,
  { resource, namespace, folded }: MailTokenName,
  nowMs: number,
) =>
  from.get<MailTokenRow>(sql`SELECT purpose, resource, folded, namespace, person, revision,
    body
    FROM gh_mail_tokens WHERE resource = ${resource} AND folded = ${folded}
    AND namespace = ${namespace} AND purpose = 'sign_up' AND expires_at > ${nowMs}
    ORDER BY created_at DESC LIMIT 1`)
