/** SQL of sessions and of the revocation feed. Signing keys are `signing-key-store.ts`. */
import type { Database, Reader, Row, Statement, Tx } from '../../platform/storage/database.ts'
import { empty, prepareStatement, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import type { RotationState } from './refresh-token.ts'

export interface SessionRow extends Row, RotationState {
  readonly id: string
  readonly scope: number
  readonly customer: string
  readonly person: number
  readonly client_id: string
  /** Scope names, separated by a space. */
  readonly scopes: string
  /** JSON array; null: the standard audience. */
  readonly audience: string | null
  /** Whether its tokens never reach account endpoints. */
  readonly third_party: number
  /** When the person signed in to a client, in epoch milliseconds; else null. */
  readonly authenticated_at: number | null
  /** The encrypted successor of the previous token; null without a grace period. */
  readonly successor: Uint8Array | null
  readonly created_at: number
  /** The end of the absolute lifetime, in epoch milliseconds. */
  readonly ends_at: number
}

/** The columns that determine the grant of a session. */
export type SessionGrant = Pick<
  SessionRow,
  | 'id'
  | 'scope'
  | 'customer'
  | 'person'
  | 'client_id'
  | 'scopes'
  | 'audience'
  | 'third_party'
  | 'authenticated_at'
  | 'ends_at'
>

export const splitScopes = (scopes: string): string[] => scopes.split(' ').filter(Boolean)

const COLUMNS = `id, scope, customer, person, client_id, scopes, audience,
  authenticated_at, third_party, token_hash, previous_hash, successor, rotated_at, created_at,
  last_used_at,
  expires_at, ends_at`

const byId = prepareStatement(`SELECT ${COLUMNS} FROM gh_sessions WHERE id = ?`)

const byPlace = prepareStatement(`SELECT ${COLUMNS} FROM gh_sessions WHERE scope = ? AND id = ?`)

/** The columns by which a statement finds a session. */
type SessionPlace = Pick<SessionRow, 'scope' | 'id'>

/** Finds a session by its id, which refresh tokens contain. */
export const findSession = (from: Reader, id: string) => from.get<SessionRow>(byId([id]))
export const lockSession = (tx: Tx, { scope, id }: SessionPlace) =>
  tx.lock<SessionRow>(byPlace([scope, id]))

/** Returns whether a session exists, and prevents its end until the transaction ends. */
export const holdSession = async (tx: Tx, { scope, id }: SessionPlace): Promise<boolean> =>
  (await tx.hold(byPlace([scope, id]))).length > 0

/** The condition of sessions with a refresh token: others are one access token of an assertion. */
export const IS_SIGN_IN = 'token_hash IS NOT NULL'

const ownSession = prepareStatement(
  `SELECT id, client_id, created_at, last_used_at, expires_at, scopes FROM gh_sessions
   WHERE scope = ? AND person = ? AND id = ? AND expires_at > ? AND ${IS_SIGN_IN}`,
)

/** Returns a session of a person as an array, in the order of its collection's columns. */
export async function findSessionCells(
  from: Reader,
  own: { readonly scope: number; readonly person: number; readonly id: string },
  now: number,
) {
  const [row] = await from.arrays(ownSession([own.scope, own.person, own.id, now]))
  return row
}

const sessionClient = prepareStatement(
  'SELECT client_id FROM gh_sessions WHERE scope = ? AND person = ? AND id = ? AND expires_at > ?',
)

/** Returns the client of a session of a person, also of one that is no sign-in. */
export async function findSessionClient(
  from: Reader,
  { scope, person, id }: { readonly scope: number; readonly person: number; readonly id: string },
  now: number,
): Promise<string | undefined> {
  const [row] = await from.arrays(sessionClient([scope, person, id, now]))
  return row && String(row[0])
}

interface NewSession
  extends Pick<SessionRow, 'id' | 'scope' | 'customer' | 'person' | 'client_id' | 'scopes'>,
    Pick<SessionRow, 'audience' | 'authenticated_at' | 'third_party' | 'token_hash'>,
    Pick<SessionRow, 'created_at' | 'expires_at' | 'ends_at'> {
  /** The latest expiry of the session's access tokens, in epoch milliseconds. */
  readonly access_until: number
}

const insert = prepareStatement(
  `INSERT INTO gh_sessions (id, scope, customer, person, client_id, scopes, audience,
    authenticated_at, third_party, token_hash, created_at, last_used_at, expires_at, ends_at,
    access_until)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)

export const insertSession = (tx: Tx, row: NewSession): void =>
  tx.runLater(
    insert([
      row.id,
      row.scope,
      row.customer,
      row.person,
      row.client_id,
      row.scopes,
      row.audience,
      row.authenticated_at,
      row.third_party,
      row.token_hash,
      row.created_at,
      row.created_at,
      row.expires_at,
      row.ends_at,
      row.access_until,
    ]),
  )

const rotate = prepareStatement(
  `UPDATE gh_sessions SET previous_hash = token_hash, token_hash = ?, successor = ?,
   rotated_at = ?, last_used_at = ?, access_until = ?,
   expires_at = CASE WHEN ends_at < ? THEN ends_at ELSE ? END
   WHERE id = ? AND token_hash = ? AND expires_at > ?
    RETURNING id, scope, customer, person, client_id, scopes, audience, authenticated_at,
    third_party, ends_at`,
)

/** A rotation of a session's refresh token; times are epoch milliseconds. */
interface RefreshTokenRotation {
  readonly id: string
  readonly presentedHash: Uint8Array
  readonly successorHash: Uint8Array
  readonly encryptedSuccessor: Uint8Array | null
  readonly now: number
  /** The end of the idle lifetime. */
  readonly expiresAt: number
  readonly accessUntil: number
}

/**
 * Replaces the presented token with its successor, and returns the grant of the session. Returns
 * undefined and writes nothing unless the token is the current one of a session that is valid.
 */
export function rotateRefreshToken(tx: Tx, rotation: RefreshTokenRotation) {
  const { id, presentedHash, successorHash, encryptedSuccessor, now } = rotation
  const { expiresAt, accessUntil } = rotation
  return tx.get<SessionGrant>(
    rotate([
      successorHash,
      encryptedSuccessor,
      now,
      now,
      accessUntil,
      expiresAt,
      expiresAt,
      id,
      presentedHash,
      now,
    ]),
  )
}

export const extendAccess = (tx: Tx, { scope, id }: SessionPlace, until: number) =>
  tx.run(sql`UPDATE gh_sessions SET access_until = ${until}
    WHERE scope = ${scope} AND id = ${id} AND access_until < ${until}`)

/** A session whose access tokens are valid until `access_until`. */
export interface DeletedSession extends Row {
  readonly id: string
  readonly access_until: number
}

/** One statement deletes and returns, so a concurrent refresh cannot extend a deleted session. */
const returning = ({ sql: text, values }: Statement) =>
  prepareStatement(`${text} RETURNING id, access_until`)(values)

export const deleteSession = (tx: Tx, id: string) =>
  tx.all<DeletedSession>(returning(sql`DELETE FROM gh_sessions WHERE id = ${id}`))

/** Deletes the sessions of a person: at one client, or all but one. */
export const deleteSessionsOf = (
  tx: Tx,
  scope: number,
  person: number,
  {
    clientId,
    exceptId,
  }: { readonly clientId?: string; readonly exceptId?: string | undefined } = {},
) => {
  const atClient = clientId === undefined ? empty : sql` AND client_id = ${clientId}`
  const others = exceptId === undefined ? empty : sql` AND id <> ${exceptId}`
  return tx.all<DeletedSession>(
    returning(sql`DELETE FROM gh_sessions WHERE scope = ${scope} AND person = ${person}
      ${atClient}${others}`),
  )
}

/** Without a scope: in those of all customers. */
export const deleteSessionsOfClient = (tx: Tx, scope: number | undefined, clientId: string) =>
  tx.run(sql`DELETE FROM gh_sessions WHERE client_id = ${clientId}
    ${scope === undefined ? sql`` : sql`AND scope = ${scope}`}`)

/** Returns an expired session of a person that is still stored. */
export const findExpiredSession = (from: Reader, scope: number, person: number, now: number) =>
  from.get(sql`SELECT id FROM gh_sessions
    WHERE scope = ${scope} AND person = ${person} AND expires_at <= ${now} LIMIT 1`)

export const deleteExpiredSessions = (tx: Tx, scope: number, person: number, now: number) =>
  tx.run(sql`DELETE FROM gh_sessions
    WHERE scope = ${scope} AND person = ${person} AND expires_at <= ${now}`)

/** Deletes encrypted successors whose grace period has ended. */
export const purgeSuccessors = (tx: Tx, before: number) =>
  tx.run(sql`UPDATE gh_sessions SET successor = NULL
    WHERE successor IS NOT NULL AND rotated_at <= ${before}`)

/**
 * What an entry of the feed revokes (`session`, `token`, `client`), or which data nodes must read
 * again (`client_changed`, `customer`, `signing_key`).
 */
export type FeedEntryKind =
  | 'session'
  | 'token'
  | 'client'
  | 'client_changed'
  | 'customer'
  | 'signing_key'

interface FeedEntryRow extends Row {
  readonly position: number
  readonly kind: FeedEntryKind
  readonly value: string
  /** Epoch milliseconds. */
  readonly keep_until: number
}

const insertEntry = prepareStatement(
  'INSERT INTO gh_revocations (kind, value, keep_until) VALUES (?, ?, ?)',
)

export const insertFeedEntry = (tx: Tx, kind: FeedEntryKind, value: string, keepUntil: number) =>
  tx.run(insertEntry([kind, value, keepUntil]))

const entriesSince = (horizon: string) =>
  prepareStatement(`SELECT 0 AS position, NULL AS kind, NULL AS value, ${horizon} AS keep_until
    UNION ALL SELECT position, kind, value, keep_until FROM gh_revocations
      WHERE position > ? OR txid >= ? ORDER BY position`)

/**
 * Returns SQL of the horizon of the current snapshot if it has no entry for a read with these
 * arguments (`createFeedReader`); else of null.
 */
export function selectFeedHorizon(db: Database, position: number, horizon: number): Sql {
  const since = sql`position > ${position} OR txid >= ${horizon}`
  return sql`CASE WHEN EXISTS (SELECT 1 FROM gh_revocations WHERE ${since}) THEN NULL
    ELSE ${raw(db.dialect.horizon)} END`
}

interface FeedRead {
  readonly entries: readonly FeedEntryRow[]
  /** The horizon of the snapshot that the entries are of: argument of the next read. */
  readonly horizon: number
}

/**
 * Returns a function that reads the entries after `position`. On PostgreSQL it also reads earlier
 * entries of transactions not older than `horizon`, which may have committed late; some were read
 * before.
 */
export function createFeedReader(db: Database) {
  const statement = entriesSince(db.dialect.horizon)
  return async (position: number, horizon: number): Promise<FeedRead> => {
    const [head, ...entries] = await db.all<FeedEntryRow>(statement([position, horizon]))
    return { entries, horizon: Number(head!.keep_until) }
  }
}

const findRevocation = prepareStatement(
  `SELECT 1 AS yes FROM gh_revocations WHERE (value = ? AND kind = 'token')
   OR (value IN (?, ?) AND kind = 'client') OR (value = ? AND kind = 'session') LIMIT 1`,
)

/** Values of a token that can be revoked; none is an empty text. */
interface RevocableValues {
  readonly jti: string
  /** The client, and the issuer of the assertion. */
  readonly clientIds: readonly [string, string]
  readonly sid: string
}

export const hasRevocation = async (from: Reader, { jti, clientIds, sid }: RevocableValues) =>
  (await from.get(findRevocation([jti, ...clientIds, sid]))) !== undefined
