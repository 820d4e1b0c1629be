/**
 * Access that an administrator gives by links to the console and the portal: the links, and the
 * sessions that they open. Each row names its maker, with whose access it ends (§13).
 */
import type { StoredPrincipal } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { type Sql, sql } from '../../platform/storage/sql.ts'

/** The maker of a link, as its row and that of its session name it; null: nothing ends it. */
export interface GivenBy {
  /** The id of a key, client or operator, or that of `personMaker`. */
  readonly maker_id: string | null
  /** The client of a person's token. */
  readonly maker_client: string | null
}

/** Returns how rows name a person that created them. */
export const personMaker = (subject: string): string => `person:${subject}`

/** Returns the columns that name a maker; undefined: the command line. */
export function makerColumns(maker: StoredPrincipal | undefined): GivenBy {
  if (!maker) return { maker_id: null, maker_client: null }
  const { kind, subject, clientId } = maker
  if (kind !== 'person') return { maker_id: subject, maker_client: null }
  return { maker_id: personMaker(subject), maker_client: clientId ?? null }
}

/** The maker whose access ends, also through one client only; or a client, with all through it. */
export type EndedMaker =
  | { readonly maker: string; readonly client?: string }
  | { readonly maker?: undefined; readonly client: string }

/** Returns the condition of the rows whose maker's access ends. */
export function isGivenBy({ maker, client }: EndedMaker): Sql {
  if (maker === undefined) return sql`(maker_id = ${client} OR maker_client = ${client})`
  return client === undefined
    ? sql`maker_id = ${maker}`
    : sql`maker_id = ${maker} AND maker_client = ${client}`
}

/** Ends the access that a maker gave. Returns the number of links and sessions. */
export type EndGivenAccess = (tx: Tx, ended: EndedMaker) => Promise<number>
