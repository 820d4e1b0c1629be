/** SQL of sessions and of what was announced to all nodes. Signing keys are `key-store.ts`. */
import type { Database, Reader, Row, Statement, Tx } from '../storage/database.ts'
import { empty, fixed, sql } from '../storage/sql.ts'
import type { Rotation } from './refresh-token.ts'

export interface SessionRow extends Row, Rotation {
  readonly id: string
  readonly scope: number
  readonly customer: string
  readonly person: number
  readonly client_id: string
  /** Names with a space between. */
  readonly scopes: string
  readonly successor: Uint8Array | null
  readonly created_at: number
  /** However often it is refreshed, it ends here. */
  readonly ends_at: number
}

/** The names in a text that has a space between them. */
export const namesIn = (scopes: string): string[] => scopes.split(' ').filter(Boolean)

const COLUMNS = `id, scope, customer, person, client_id, scopes, token_hash, previous_hash,
  successor, rotated_at, created_at, last_used_at, expires_at, ends_at`

const byId = fixed(`SELECT ${COLUMNS} FROM gh_sessions WHERE id = ?`)

export const findSession = (from: Reader, id: string) => from.get<SessionRow>(byId([id]))
export const lockSession = (tx: Tx, id: string) => tx.lock<SessionRow>(byId([id]))

const ownSession = fixed(
  `SELECT id, client_id, scopes, created_at, last_used_at, expires_at FROM gh_sessions
   WHERE scope = ? AND person = ? AND id = ? AND expires_at > ?`,
)

/** A person's own session as an array, in the order it is listed in. */
export async function cellsOfSession(
  from: Reader,
  own: { scope: number; person: number; id: string },
  now: number,
) {
  const [row] = await from.arrays(ownSession([own.scope, own.person, own.id, now]))
  return row
}

const insert = fixed(
  `INSERT INTO gh_sessions (id, scope, customer, person, client_id, scopes, token_hash, created_at,
   last_used_at, expires_at, ends_at, access_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
)

export interface NewSession
  extends Pick<SessionRow, 'id' | 'scope' | 'customer' | 'person' | 'client_id' | 'scopes'>,
    Pick<SessionRow, 'token_hash' | 'created_at' | 'expires_at' | 'ends_at'> {
  /** The last moment an access token of the session can be good. */
  readonly access_until: number
}

export const insertSession = (tx: Tx, row: NewSession) =>
  tx.run(
    insert([
      ...[row.id, row.scope, row.customer, row.person, row.client_id, row.scopes],
      ...[row.token_hash, row.created_at, row.created_at, row.expires_at, row.ends_at],
      row.access_until,
    ]),
  )

const rotate = fixed(
  `UPDATE gh_sessions SET previous_hash = token_hash, token_hash = ?, successor = ?,
   rotated_at = ?, last_used_at = ?, access_until = ?,
   expires_at = CASE WHEN ends_at < ? THEN ends_at ELSE ? END
   WHERE id = ? AND token_hash = ? AND expires_at > ?
   RETURNING id, scope, customer, person, client_id, scopes, ends_at`,
)

export interface NextToken {
  readonly id: string
  readonly presented: Uint8Array
  readonly next: Uint8Array
  readonly successor: Uint8Array | null
  readonly now: number
  /** Unless the session ends before. */
  readonly expiresAt: number
  readonly accessUntil: number
}

/** What a session grants. */
export type Granting = Pick<
  SessionRow,
  'id' | 'scope' | 'customer' | 'person' | 'client_id' | 'scopes' | 'ends_at'
>

/**
 * Puts the successor in the place of the token presented, only while that is the current one of a
 * session that lasts; gives what it grants. Undefined: it is not, and nothing has changed.
 */
export const rotateSession = (tx: Tx, to: NextToken) => {
  const { id, presented, next, successor, now, expiresAt, accessUntil } = to
  const until = [accessUntil, expiresAt, expiresAt]
  return tx.get<Granting>(rotate([next, successor, now, now, ...until, id, presented, now]))
}

export const extendAccess = (tx: Tx, id: string, until: number) =>
  tx.run(sql`UPDATE gh_sessions SET access_until = ${until}
    WHERE id = ${id} AND access_until < ${until}`)

interface Ended extends Row {
  readonly id: string
  readonly access_until: number
}

/** Removed and told in one statement, so that one refreshed at the same moment is not missed. */
const ending = (where: Statement) => fixed(`${where.sql} RETURNING id, access_until`)(where.values)

export const endSession = (tx: Tx, id: string) =>
  tx.all<Ended>(ending(sql`DELETE FROM gh_sessions WHERE id = ${id}`))

/** Of one client only, or all but one session, where these are named. */
export const endSessionsOf = (
  tx: Tx,
  scope: number,
  person: number,
  { clientId, except }: { readonly clientId?: string; readonly except?: string | undefined } = {},
) => {
  const atClient = clientId === undefined ? empty : sql` AND client_id = ${clientId}`
  const others = except === undefined ? empty : sql` AND id <> ${except}`
  return tx.all<Ended>(
    ending(sql`DELETE FROM gh_sessions WHERE scope = ${scope} AND person = ${person}
      ${atClient}${others}`),
  )
}

export const dropSessionsOfClient = (tx: Tx, scope: number, clientId: string) =>
  tx.run(sql`DELETE FROM gh_sessions WHERE scope = ${scope} AND client_id = ${clientId}`)

/** How many expired sessions a person has whose rows still stand: at most one is counted. */
export const hasExpired = (from: Reader, scope: number, person: number, now: number) =>
  from.get(sql`SELECT id FROM gh_sessions
    WHERE scope = ${scope} AND person = ${person} AND expires_at <= ${now} LIMIT 1`)

export const dropExpiredOf = (tx: Tx, scope: number, person: number, now: number) =>
  tx.run(sql`DELETE FROM gh_sessions
    WHERE scope = ${scope} AND person = ${person} AND expires_at <= ${now}`)

const SLICE = 1_000
const MAX_SLICES = 100

/** Removes by slices, each a transaction of its own, so that nobody waits long for it. */
async function inSlices(db: Database, slice: (tx: Tx) => Promise<number>): Promise<number> {
  let total = 0
  for (let n = 0; n < MAX_SLICES; n++) {
    const removed = await db.write(slice)
    total += removed
    if (removed < SLICE) break
  }
  return total
}

export const purgeSessions = (db: Database, before: number) =>
  inSlices(db, (tx) =>
    tx.run(sql`DELETE FROM gh_sessions WHERE id IN
      (SELECT id FROM gh_sessions WHERE expires_at <= ${before} ORDER BY expires_at
       LIMIT ${SLICE})`),
  )

/** Successors nobody may be told again any more. */
export const forgetSuccessors = (tx: Tx, before: number) =>
  tx.run(sql`UPDATE gh_sessions SET successor = NULL
    WHERE successor IS NOT NULL AND rotated_at <= ${before}`)

/** What all nodes hear of within 2 s. */
export type Announced =
  | 'session'
  | 'token'
  | 'client'
  | 'client_changed'
  | 'customer'
  | 'signing_key'

export interface AnnouncedRow extends Row {
  readonly position: number
  readonly kind: Announced
  readonly value: string
  readonly keep_until: number
}

const announcing = fixed('INSERT INTO gh_revocations (kind, value, keep_until) VALUES (?, ?, ?)')

/** Heard everywhere once the transaction has committed; kept until `keepUntil`. */
export const insertAnnounced = (tx: Tx, kind: Announced, value: string, keepUntil: number) =>
  tx.run(announcing([kind, value, keepUntil]))

const since = fixed(
  `SELECT position, kind, value, keep_until FROM gh_revocations
   WHERE position > ? OR txid >= ? ORDER BY position`,
)

/**
 * What came after `position`, and, on PostgreSQL, what a transaction not older than `horizon` may
 * have committed late before it; some of it was read already.
 */
export const announcedSince = (from: Reader, position: number, horizon: number) =>
  from.all<AnnouncedRow>(since([position, horizon]))

export async function horizonOf(from: Reader, text: string): Promise<number> {
  const [row] = await from.arrays(fixed(`SELECT ${text}`)([]))
  return Number(row![0])
}

const revoked = fixed(
  `SELECT 1 AS yes FROM gh_revocations WHERE (value = ? AND kind = 'token')
   OR (value = ? AND kind = 'client') OR (value = ? AND kind = 'session') LIMIT 1`,
)

export const isAnnounced = async (from: Reader, jti: string, clientId: string, sid: string) =>
  (await from.get(revoked([jti, clientId, sid]))) !== undefined

export const purgeAnnounced = (db: Database, before: number) =>
  inSlices(db, (tx) =>
    tx.run(sql`DELETE FROM gh_revocations WHERE position IN
      (SELECT position FROM gh_revocations WHERE keep_until <= ${before} ORDER BY keep_until
       LIMIT ${SLICE})`),
  )
