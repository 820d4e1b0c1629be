/** SQL of operators, their one-time links and their sessions. */

import { selectTargets } from '../../history/audit/reader.ts'
import type { Role } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { runOne } from '../../platform/storage/discarded-rows.ts'
import { insertInto, sql } from '../../platform/storage/sql.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { selectCustomerNo } from '../access/customer-reader.ts'
import { type EndedMaker, endGivenRows, type GivenBy, isGivenBy } from '../access/given-access.ts'
import type { CreatedObject, CreatedReading } from '../access/key-reader.ts'

export interface OperatorRow extends Row {
  readonly id: string
  readonly email: string
  readonly folded: string
  readonly password: string
  readonly role: Role
  readonly disabled: number
  readonly created_at: number
  /** Null for an operator who signs in by a password. */
  readonly issuer: string | null
  /** 0 once its provider named it without a group. */
  readonly in_group: number
  /** Encrypted for the row's id; null without a second factor. */
  readonly totp: Uint8Array | null
  /** Encrypted; not confirmed with a code yet. */
  readonly totp_pending: Uint8Array | null
  /** The step of the last code that was used. */
  readonly totp_step: number
}

export const EMAIL_INDEX = 'gh_operators_folded'

const SELECT_OPERATORS = sql`SELECT id, email, folded, password, role, disabled, created_at,
  issuer, in_group, totp, totp_pending, totp_step FROM gh_operators`

const byFoldedEmail = (folded: string) =>
  sql`${SELECT_OPERATORS} WHERE folded = ${folded} AND issuer IS NULL`

export const lockOperatorById = (tx: Tx, id: string) =>
  tx.lock<OperatorRow>(sql`${SELECT_OPERATORS} WHERE id = ${id}`)

/** Locks the operator of an address, who signs in by a password, or of an id. */
export const lockNamedOperator = (tx: Tx, name: string) =>
  name.includes('@') ? lockOperator(tx, foldName(name)) : lockOperatorById(tx, name)

/** Locks the operator of an identity at a provider. */
export const lockIdentity = (tx: Tx, { issuer, subject }: ProviderIdentity) =>
  tx.lock<OperatorRow>(sql`${SELECT_OPERATORS} WHERE issuer = ${issuer} AND subject = ${subject}`)

/** Stores what the provider says of an operator, who is in a group. */
export const updateIdentity = (
  tx: Tx,
  { id, email, folded, role }: Pick<OperatorRow, 'id' | 'email' | 'folded' | 'role'>,
) =>
  runOne(
    tx,
    sql`UPDATE gh_operators SET email = ${email}, folded = ${folded}, role = ${role},
    in_group = 1 WHERE id = ${id}`,
  )

export const leaveGroups = (tx: Tx, id: string) =>
  tx.run(sql`UPDATE gh_operators SET in_group = 0 WHERE id = ${id}`)

export const findOperator = (from: Reader, folded: string) =>
  from.get<OperatorRow>(byFoldedEmail(folded))
export const lockOperator = (tx: Tx, folded: string) => tx.lock<OperatorRow>(byFoldedEmail(folded))

/** Returns the address and the provider of an operator; undefined if there is none with the id. */
export const findOperatorById = (from: Reader, id: string) =>
  from.get<Pick<OperatorRow, 'email' | 'issuer'>>(
    sql`SELECT email, issuer FROM gh_operators WHERE id = ${id}`,
  )

/** The identity of an operator who signs in with OpenID Connect. */
export interface ProviderIdentity {
  readonly issuer: string
  readonly subject: string
}

type NewOperator = Omit<OperatorRow, 'issuer' | 'in_group' | 'totp' | 'totp_pending' | 'totp_step'>

/** Returns whether an operator exists, disabled ones included. */
export const hasOperator = async (from: Reader): Promise<boolean> =>
  (await from.get(sql`SELECT 1 AS operator FROM gh_operators LIMIT 1`)) !== undefined

export const insertOperator = (tx: Tx, row: NewOperator, identity?: ProviderIdentity) =>
  tx.run(sql`${insertInto('gh_operators', { ...row, ...identity })}
    ON CONFLICT (issuer, subject) DO NOTHING`)

export const updateOperator = (
  tx: Tx,
  { id, password, role, disabled }: Pick<OperatorRow, 'id' | 'password' | 'role' | 'disabled'>,
) =>
  runOne(
    tx,
    sql`UPDATE gh_operators SET password = ${password}, role = ${role},
    disabled = ${disabled} WHERE id = ${id}`,
  )

export const isEnrolled = async (from: Reader, id: string): Promise<boolean> =>
  (await from.get(
    sql`SELECT 1 AS enrolled FROM gh_operators WHERE id = ${id} AND totp IS NOT NULL`,
  )) !== undefined

export const setPendingTotp = (tx: Tx, id: string, secret: Uint8Array | null) =>
  runOne(tx, sql`UPDATE gh_operators SET totp_pending = ${secret} WHERE id = ${id}`)

export const confirmTotp = (tx: Tx, id: string, secret: Uint8Array, step: number) =>
  runOne(
    tx,
    sql`UPDATE gh_operators SET totp = ${secret}, totp_pending = NULL, totp_step = ${step}
    WHERE id = ${id}`,
  )

export const setTotpStep = (tx: Tx, id: string, step: number) =>
  runOne(tx, sql`UPDATE gh_operators SET totp_step = ${step} WHERE id = ${id}`)

export async function replaceRecoveryCodes(tx: Tx, id: string, hashes: readonly Uint8Array[]) {
  await tx.run(sql`DELETE FROM gh_operator_recovery_codes WHERE operator = ${id}`)
  for (const hash of hashes) {
    await tx.run(sql`INSERT INTO gh_operator_recovery_codes (operator, hash)
      VALUES (${id}, ${hash})`)
  }
}

/** Deletes a recovery code; returns false if there is no such code. */
export const takeRecoveryCode = async (tx: Tx, id: string, hash: Uint8Array): Promise<boolean> =>
  (await tx.run(sql`DELETE FROM gh_operator_recovery_codes
    WHERE operator = ${id} AND hash = ${hash}`)) > 0

export async function removeTotp(tx: Tx, id: string): Promise<void> {
  await tx.run(sql`UPDATE gh_operators SET totp = NULL, totp_pending = NULL WHERE id = ${id}`)
  await replaceRecoveryCodes(tx, id, [])
}

interface LinkRow extends Row {
  readonly id: string
  /** The operator whose session it opens; null for the session that creates operators. */
  readonly operator: string | null
}

/** The administrator who created a link; null: the command line, or a mail. */
interface LinkMaker extends GivenBy {
  /** A `StoredPrincipal`, as JSON. */
  readonly maker: string | null
}

/** A link that was used, as its session names it. */
export type UsedLink = Pick<LinkRow, 'id'> & GivenBy

export const insertLink = (
  tx: Tx,
  row: LinkRow & LinkMaker & { hash: Uint8Array; expires_at: number },
) => tx.run(insertInto('gh_console_links', row))

/** Returns whose session a link opens, and its maker; undefined if it was used. */
export const findLink = (from: Reader, hash: Uint8Array) =>
  from.get<Pick<LinkRow, 'operator'> & Pick<LinkMaker, 'maker'> & Row>(
    sql`SELECT operator, maker FROM gh_console_links WHERE hash = ${hash}`,
  )

/** Deletes a valid link and returns it: of concurrent requests with one link, one gets it. */
export const takeLink = (tx: Tx, hash: Uint8Array, now: number) =>
  tx.get<UsedLink & Row>(sql`DELETE FROM gh_console_links
    WHERE hash = ${hash} AND expires_at > ${now} 
    RETURNING id, maker_id, maker_client, maker_session`)

export const deleteLinks = (tx: Tx, operator: string) =>
  tx.run(sql`DELETE FROM gh_console_links WHERE operator = ${operator}`)

export const endGivenLinks = (tx: Tx, ended: EndedMaker) =>
  tx.run(endGivenRows('gh_console_links', ended, ['expires_at']))

/** Lists the operators that an operator created and that are enabled, the newest first. */
export const listOperatorsCreatedBy = (from: Reader, operator: string, { limit }: CreatedReading) =>
  from.all<CreatedObject>(sql`SELECT o.id, o.email AS name, a.at
    FROM ${selectTargets('operator.create', operator)} AS a JOIN gh_operators o ON o.id = a.target
    WHERE o.disabled = 0 ORDER BY a.id DESC LIMIT ${limit}`)

export interface ConsoleSessionRow extends Row {
  readonly operator: string | null
  /** The link that opened a session without an operator. */
  readonly link: string | null
  readonly email: string | null
  readonly role: Role | null
  readonly id: string
  /** 0 until the second factor is verified or enrolled. */
  readonly verified: number
  readonly created_at: number
  readonly last_used_at: number
  /** The end of the session unless it is used before. */
  readonly expires_at: number
  /** The end of the session in any case. */
  readonly ends_at: number
  readonly provider_tokens: Uint8Array | null
  /** When the groups of the operator were read; null unless it signed in with OpenID Connect. */
  readonly claims_read_at: number | null
  readonly issuer: string | null
  readonly subject: string | null
  readonly customer_no: number
}

export const insertSession = (
  tx: Tx,
  row: Pick<
    ConsoleSessionRow,
    | 'id'
    | 'operator'
    | 'link'
    | 'verified'
    | 'expires_at'
    | 'ends_at'
    | 'provider_tokens'
    | 'claims_read_at'
  > &
    GivenBy & {
      readonly address: string
      readonly hash: Uint8Array
      readonly created_at: number
    },
) => tx.run(insertInto('gh_console_sessions', { ...row, last_used_at: row.created_at }))

/** Begins to read the groups of a session; false if another node does, or has. */
export const claimReading = async (
  tx: Tx,
  { id, claims_read_at: at }: Pick<ConsoleSessionRow, 'id' | 'claims_read_at'>,
  now: number,
  longestMs: number,
): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_console_sessions SET claims_claimed_at = ${now}
    WHERE id = ${id} AND claims_read_at = ${at} AND claims_claimed_at <= ${now - longestMs}`)) > 0

/** Returns when the groups of a session were read; undefined if it has ended. */
export const findReading = async (from: Reader, id: string): Promise<number | null | undefined> =>
  (await from.get(sql`SELECT claims_read_at FROM gh_console_sessions WHERE id = ${id}`))
    ?.claims_read_at

export const hasSession = async (from: Reader, id: string): Promise<boolean> =>
  (await findReading(from, id)) !== undefined

/** Stores that the groups were read, and the tokens of the next reading. */
export const finishReading = (tx: Tx, id: string, tokens: Uint8Array, now: number) =>
  tx.run(sql`UPDATE gh_console_sessions SET provider_tokens = ${tokens},
    claims_read_at = ${now}, claims_claimed_at = 0 WHERE id = ${id}`)

/** Extends a session. */
export const refreshSession = (
  tx: Tx,
  { id, expires_at, last_used_at }: Pick<ConsoleSessionRow, 'id' | 'expires_at' | 'last_used_at'>,
) =>
  tx.run(sql`UPDATE gh_console_sessions SET expires_at = ${expires_at},
    last_used_at = ${last_used_at} WHERE id = ${id}`)

/** Postpones the end of the sessions of an operator, or of a link without one. */
export const extendSessions = (tx: Tx, subject: string, ms: number) =>
  tx.run(sql`UPDATE gh_console_sessions SET expires_at = expires_at + ${ms},
    ends_at = ends_at + ${ms}
    WHERE operator = ${subject} OR (operator IS NULL AND link = ${subject})`)

/**
 * Stores that a session is verified and belongs to the operator, under a new token. Returns false
 * if it has ended, or has another operator since.
 */
export const elevateSession = async (
  tx: Tx,
  id: string,
  operator: string,
  { hash, now }: { readonly hash: Uint8Array; readonly now: number },
): Promise<boolean> =>
  (await tx.run(sql`UPDATE gh_console_sessions SET operator = ${operator}, verified = 1,
    hash = ${hash} WHERE id = ${id} AND (operator IS NULL OR operator = ${operator})
      AND expires_at > ${now}`)) > 0

export const deleteOtherSessions = (tx: Tx, operator: string, id: string) =>
  tx.run(sql`DELETE FROM gh_console_sessions WHERE operator = ${operator} AND id <> ${id}`)

type SessionMakers = Row & Pick<ConsoleSessionRow, 'operator' | 'link'>

/**
 * Returns what names sessions as the maker of links: their operators, and the links that opened
 * them, which name a session without an operator.
 */
const makersOf = (rows: readonly SessionMakers[]): string[] =>
  [...new Set(rows.flatMap(({ operator, link }) => [operator, link]))]
    .filter((maker) => maker !== null)
    .sort()

/** Lists the makers that a session is. */
export const listMakersOfSession = async (from: Reader, id: string): Promise<string[]> =>
  makersOf(
    await from.all<SessionMakers>(
      sql`SELECT operator, link FROM gh_console_sessions WHERE id = ${id}`,
    ),
  )

/** Lists the makers that the sessions of an operator are, the operator included. */
export const listMakersOfOperator = async (from: Reader, operator: string): Promise<string[]> =>
  makersOf([
    { operator, link: null },
    ...(await from.all<SessionMakers>(
      sql`SELECT operator, link FROM gh_console_sessions WHERE operator = ${operator}`,
    )),
  ])

/** Deletes a session; returns false if there is none. */
export const deleteSessionById = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.run(sql`DELETE FROM gh_console_sessions WHERE id = ${id}`)) > 0

/** Returns a session that is not expired and whose operator is not disabled. */
export const findSession = (from: Reader, hash: Uint8Array, customer: string, now: number) =>
  from.get<ConsoleSessionRow>(sql`SELECT s.id, s.operator, s.link, o.email, o.role, s.verified,
      s.created_at, s.last_used_at, s.expires_at, s.ends_at, s.provider_tokens, s.claims_read_at,
      o.issuer, o.subject,
      ${selectCustomerNo(customer)} AS customer_no
    FROM gh_console_sessions s
    LEFT JOIN gh_operators o ON o.id = s.operator
    WHERE s.hash = ${hash} AND s.expires_at > ${now}
      AND (s.operator IS NULL OR o.disabled = 0)`)

/** Deletes a session and returns it; undefined if there is none. */
export const takeSession = (tx: Tx, hash: Uint8Array) =>
  tx.get<Pick<ConsoleSessionRow, 'id' | 'operator' | 'link'>>(
    sql`DELETE FROM gh_console_sessions WHERE hash = ${hash} RETURNING id, operator, link`,
  )

/** Lists the makers that the sessions are which links of a maker opened. */
export const listOpenedBy = async (from: Reader, ended: EndedMaker): Promise<string[]> =>
  makersOf(
    await from.all<SessionMakers>(
      sql`SELECT operator, link FROM gh_console_sessions WHERE ${isGivenBy(ended)}`,
    ),
  )

/** Ends the sessions that links of a maker opened. */
export const endSessionsOpenedBy = (tx: Tx, ended: EndedMaker) =>
  tx.run(endGivenRows('gh_console_sessions', ended, ['expires_at', 'ends_at']))

export const deleteSessions = (tx: Tx, operator: string) =>
  tx.run(sql`DELETE FROM gh_console_sessions WHERE operator = ${operator}`)

/** Deletes the passkeys of an operator. */
export const deletePasskeysOf = (tx: Tx, operator: string) =>
  tx.run(sql`DELETE FROM gh_operator_passkeys WHERE operator = ${operator}`)

/** Removes second factors of an operator that no secret decrypts. */
export const removeLostTotp = (tx: Tx, id: string) =>
  tx.run(sql`UPDATE gh_operators SET totp = NULL, totp_pending = NULL WHERE id = ${id}`)
