/**
 * Access that an administrator gives by links to the console and the portal: the links, and the
 * sessions that they open. Each row names its maker, with whose access it ends (§13).
 */
import type { StoredPrincipal } from '../../kernel/principal.ts'
import type { Statement, Tx } from '../../platform/storage/database.ts'
import { empty, join, raw, type Sql, sql } from '../../platform/storage/sql.ts'

/** The maker of a link, as its row and that of its session name it; null: nothing ends it. */
export interface GivenBy {
  /** The id of a key, client or operator, or that of `personMaker`. */
  readonly maker_id: string | null
  /** The client of a person's token. */
  readonly maker_client: string | null
  /** The session of a person or an operator. */
  readonly maker_session: string | null
}

/** Returns how rows name a person that created them. */
export const personMaker = (subject: string): string => `person:${subject}`

/** Returns the columns that name a maker; undefined: the command line. */
export function makerColumns(maker: StoredPrincipal | undefined): GivenBy {
  if (!maker) return { maker_id: null, maker_client: null, maker_session: null }
  const { kind, subject, clientId, sessionId: maker_session = null } = maker
  if (kind !== 'person') return { maker_id: subject, maker_client: null, maker_session }
  return { maker_id: personMaker(subject), maker_client: clientId ?? null, maker_session }
}

/**
 * The maker whose access ends, also through one client or session only; or a client, with all
 * through it.
 */
export type EndedMaker = (
  | { readonly maker: string; readonly client?: string; readonly session?: string }
  | { readonly maker?: undefined; readonly client: string }
) & {
  /** When the access ends; default: now. */
  readonly at?: number
}

/** Returns the condition of the rows whose maker's access ends. */
export function isGivenBy(ended: EndedMaker): Sql {
  const { maker, client } = ended
  if (maker === undefined) return sql`(maker_id = ${client} OR maker_client = ${client})`
  const ofClient = client === undefined ? empty : sql` AND maker_client = ${client}`
  const ofSession = ended.session === undefined ? empty : sql` AND maker_session = ${ended.session}`
  return sql`maker_id = ${maker}${ofClient}${ofSession}`
}

/** Returns the statement that ends rows of a table with links or sessions. */
export function endGivenRows(table: string, ended: EndedMaker, ends: readonly string[]): Statement {
  const { at } = ended
  if (at === undefined) return sql`DELETE FROM ${raw(table)} WHERE ${isGivenBy(ended)}`
  const bounded = ends.map((column) => {
    const end = raw(column)
    return sql`${end} = CASE WHEN ${end} > ${at} THEN ${at} ELSE ${end} END`
  })
  return sql`UPDATE ${raw(table)} SET ${join(bounded, ', ')} WHERE ${isGivenBy(ended)}`
}

/** Returns when the access of a maker ends, in epoch milliseconds; undefined: it has no end. */
export type AccessEnd = (tx: Tx, maker: StoredPrincipal) => Promise<number | undefined>

/** Ends the access that a maker gave. Returns the number of links and sessions. */
export type EndGivenAccess = (tx: Tx, ended: EndedMaker) => Promise<number>
