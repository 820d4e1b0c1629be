/** The place of the tables in a database of PostgreSQL: their schema, their owner, their lock. */
import { hash } from 'node:crypto'
import {
  type DatabaseTarget,
  DEFAULT_SCHEMA,
  parsePostgresAddress,
} from '../../kernel/database-target.ts'
import type { Reader } from './database.ts'
import { sql } from './sql.ts'

/** Where the tables are, and who may change them. */
export interface PostgresPlace {
  readonly schema: string
  /** Returns the name of an object with its schema, for sessions that have no search path. */
  readonly qualify: (name: string) => string
  /** Returns the channel of notifications of the schema: a channel belongs to the database. */
  readonly channel: (name: string) => string
  /** Assumes the owner of the tables for a transaction or a session; empty without one. */
  readonly assumeOwner: (duration: 'LOCAL' | 'SESSION') => readonly string[]
}

export const placeOf = ({
  schema = DEFAULT_SCHEMA,
  owner,
}: Partial<DatabaseTarget>): PostgresPlace => ({
  schema,
  qualify: (name) => `"${schema}".${name}`,
  channel: (name) => `${name}_${hash('sha256', schema).slice(0, 16)}`,
  assumeOwner: (duration) => (owner === undefined ? [] : [`SET ${duration} ROLE "${owner}"`]),
})

/** Returns the place of a database; undefined for a SQLite file, which has no schemas. */
export const findPlace = (target: DatabaseTarget): PostgresPlace | undefined =>
  parsePostgresAddress(target.url) && placeOf(target)

/** Whether the schema exists. */
export const placeExists = async (reader: Reader, schema: string): Promise<boolean> =>
  (await reader.get(sql`SELECT to_regnamespace(quote_ident(${schema})) AS name`))?.name != null

/**
 * One migration runs at a time on all nodes, and no role without rights on the table can hold it
 * up. The lock of a row would have a transaction id, so that a migration without changes would wait
 * for a standby. Two nodes that create the tables at once meet in the catalog.
 */
export const LOCK_MIGRATIONS = 'LOCK TABLE gh_migrations IN SHARE ROW EXCLUSIVE MODE'
