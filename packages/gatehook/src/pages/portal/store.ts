/** SQL of the portal's one-time links and sessions. */
import { customerOf } from '../../identity/access/customer-reader.ts'
import {
  type EndGivenAccess,
  endGivenRows,
  type GivenBy,
} from '../../identity/access/given-access.ts'
import type { Mode } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { insertInto, raw, sql } from '../../platform/storage/sql.ts'

/** The rights of a link, and of the session that it opens. */
interface PortalGrant extends GivenBy {
  readonly scope: number
  readonly customer: string
  readonly mode: Mode
  /** The scopes of the session, as JSON. */
  readonly can: string
  readonly email: string | null
  readonly return_url: string | null
}

export interface PortalLinkRow extends Row, PortalGrant {
  readonly id: string
  readonly created_at: number
  readonly expires_at: number
}

interface NewPortalLink extends PortalLinkRow {
  readonly hash: Uint8Array
  /** A `StoredPrincipal`, as JSON: the link is valid while it administers. */
  readonly maker: string
}

export const insertLink = (tx: Tx, row: NewPortalLink) => tx.run(insertInto('gh_portal_links', row))

export async function countLinks(from: Reader, scope: number, now: number): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM gh_portal_links
    WHERE scope = ${scope} AND expires_at > ${now}`)
  return Number(row?.total)
}

/** Returns the maker of a link, as JSON; undefined if it has none, or was used. */
export const findLinkMaker = async (from: Reader, hash: Uint8Array): Promise<string | undefined> =>
  (
    await from.get<Row & { readonly maker: string | null }>(
      sql`SELECT maker FROM gh_portal_links WHERE hash = ${hash}`,
    )
  )?.maker ?? undefined

/** Deletes a valid link and returns it: of concurrent requests with one link, one gets it. */
export const takeLink = (tx: Tx, hash: Uint8Array, now: number) =>
  tx.get<PortalLinkRow>(sql`DELETE FROM gh_portal_links WHERE hash = ${hash}
    AND expires_at > ${now}
    RETURNING id, scope, customer, mode, can, email, return_url, maker_id,
      maker_client, maker_session, created_at, expires_at`)

/** Deletes a link that was not used yet; returns 0 if there is none. */
export const deleteLink = (tx: Tx, id: string): Promise<number> =>
  tx.run(sql`DELETE FROM gh_portal_links WHERE id = ${id}`)

export interface PortalSession extends PortalGrant {
  readonly id: string
  /** `portal`: a link opened it; `person`: a password did. */
  readonly kind: 'portal' | 'person'
  /** The id of the link, or of the person's row. */
  readonly subject: string
  /** The revision of the person's credential; null for a link. */
  readonly revision: number | null
  readonly created_at: number
  readonly expires_at: number
}

type NewPortalSession = PortalSession & { readonly hash: Uint8Array; readonly address: string }

export const insertSession = (tx: Tx, row: NewPortalSession) =>
  tx.run(insertInto('gh_portal_sessions', row))

/** A session with the columns of its customer. */
export interface OpenPortalSession extends Row, PortalSession {
  readonly customer_name: string
  readonly suspended: number
  readonly limits: string
  readonly external_id: string | null
}

/** Returns a session that has not expired. */
export const findSession = (from: Reader, hash: Uint8Array, now: number) =>
  from.get<OpenPortalSession>(sql`SELECT s.id, s.scope, s.customer, s.mode, s.kind, s.subject,
    s.revision, s.can, s.email, s.return_url, s.created_at, s.expires_at,
    s.maker_id, s.maker_client, s.maker_session,
    c.name AS customer_name, c.suspended, c.limits, c.external_id
    FROM gh_portal_sessions s JOIN ${raw(customerOf('s.customer'))}
    WHERE s.hash = ${hash} AND s.expires_at > ${now}`)

/** Returns the scopes of the session that a link opened, as JSON; undefined: it has ended. */
export async function findLinkScopes(
  from: Reader,
  link: string,
  now: number,
): Promise<string | undefined> {
  const row = await from.get<{ can: string }>(sql`SELECT can FROM gh_portal_sessions
    WHERE kind = 'portal' AND subject = ${link} AND expires_at > ${now}`)
  return row?.can
}

/** Deletes a session and returns it; undefined if there is none. */
export const takeSession = (tx: Tx, hash: Uint8Array) =>
  tx.get<Row & Pick<PortalSession, 'id' | 'scope' | 'kind' | 'subject' | 'email'>>(
    sql`DELETE FROM gh_portal_sessions WHERE hash = ${hash}
      RETURNING id, scope, kind, subject, email`,
  )

/** Deletes the oldest sessions of a subject beyond `most`. */
export const trimSessions = (
  tx: Tx,
  { scope, kind, subject }: Pick<PortalSession, 'scope' | 'kind' | 'subject'>,
  most: number,
) =>
  tx.run(sql`DELETE FROM gh_portal_sessions WHERE id IN (
    SELECT id FROM gh_portal_sessions
    WHERE scope = ${scope} AND kind = ${kind} AND subject = ${subject}
    ORDER BY created_at DESC, id DESC LIMIT ${MAX_TRIMMED} OFFSET ${most})`)
const MAX_TRIMMED = 100

/** Deletes the session that a link opened; returns 0 if there is none. */
export const deleteSessionOfLink = (tx: Tx, link: string): Promise<number> =>
  tx.run(sql`DELETE FROM gh_portal_sessions WHERE kind = 'portal' AND subject = ${link}`)

/** Ends the links of a maker, and the sessions that they opened. Returns the number of both. */
export const endPortalAccess: EndGivenAccess = async (tx, ended) => {
  const links = await tx.run(endGivenRows('gh_portal_links', ended, ['expires_at']))
  return links + (await tx.run(endGivenRows('gh_portal_sessions', ended, ['expires_at'])))
}
