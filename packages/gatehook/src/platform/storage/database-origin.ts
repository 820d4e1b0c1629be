/**
 * The database in which a process began. An address can lead to another one later: a pooler, a name
 * or a rename points it to a copy, which accepts all statements of the node. The identifier of the
 * cluster and the object id of the database distinguish them (§18.2). A dump that is restored into
 * the same database replaces its tables beside the sessions of the node, which would give ids
 * twice: the object id of a table tells (§18.5).
 */
import type { DatabaseIdentity } from '../../kernel/database-target.ts'
import { beginErrorOf, StandbyError } from './postgres-errors.ts'

/** SQL of the columns of an identity. */
export const OF_DATABASE = `current_database()::text AS name,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS oid`
/** A search by name, because the role may lack the right on the schema (`requireFit`). */
const ofTable = (schema: string) => `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = '${schema}' AND c.relname = 'gh_migrations'`
export const ofTables = (schema: string): string =>
  `(SELECT c.oid::text ${ofTable(schema)}) AS table`

const REPLACED = 'gatehook: restored'
/** Returns a statement that fails if the table is another one; see `isTableReplaced`. */
export const refuseReplaced = (schema: string, table: string): string =>
  `SELECT ('${REPLACED} ' || c.oid)::int ${ofTable(schema)} AND c.oid <> ${table}`
const isTableReplaced = (error: unknown): boolean =>
  error instanceof Error && error.message.includes(REPLACED)

/** Returns the error of a begin: a replaced table, or that of `beginErrorOf`. */
export const originErrorOf = (error: unknown): unknown =>
  isTableReplaced(error) ? new ReplacedTablesError() : beginErrorOf(error)

export const OF_CLUSTER = '(SELECT system_identifier::text FROM pg_control_system()) AS system'

const isOther = (database: DatabaseIdentity, other: DatabaseIdentity): boolean =>
  database.oid !== other.oid ||
  (database.system !== null && other.system !== null && database.system !== other.system)

const isRestored = ({ table }: DatabaseIdentity, origin: DatabaseIdentity): boolean =>
  table !== null && origin.table !== null && table !== origin.table

const describe = ({ name, oid, system }: DatabaseIdentity, isOfCluster: boolean): string =>
  `${name}, oid ${oid}${isOfCluster ? ` of the cluster ${system}` : ''}`

function describeOther(label: string, other: DatabaseIdentity, origin: DatabaseIdentity): string {
  const isOfCluster = other.system !== origin.system
  return (
    `the address ${label} leads to another database (${describe(other, isOfCluster)}) than that ` +
    `in which the node began (${describe(origin, isOfCluster)}); point it back, or restart the ` +
    'nodes if the database was moved'
  )
}

/** As a sentence for operators. */
export const sentenceOf = (misled: string): string =>
  `${misled[0]!.toUpperCase()}${misled.slice(1)}.`

/** The server has another database than that in which the process began. */
class OtherDatabaseError extends StandbyError {
  override readonly fault = 'other_database'
}

/** A dump has replaced the tables since the process began. */
class ReplacedTablesError extends StandbyError {
  override readonly fault = 'restored'

  constructor() {
    super('a dump has replaced the tables of the database since the node began')
  }
}

export interface DatabaseOrigin {
  current(): DatabaseIdentity | undefined
  /** Whether a database is that of the process; the first one is. */
  isSame(database: DatabaseIdentity): boolean
  /** Throws `OtherDatabaseError`, or `ReplacedTablesError`. */
  require(database: DatabaseIdentity): void
  /** Returns the sentence of an address; undefined if it leads to the database of the process. */
  describe(label: string, database: DatabaseIdentity | undefined): string | undefined
  /** The other database that `require` has refused last. */
  refused(): DatabaseIdentity | undefined
}

/** `given`: the database in which another part of the process began. */
export function createOrigin(given?: DatabaseIdentity): DatabaseOrigin {
  let origin = given
  let refused: DatabaseIdentity | undefined
  return {
    current: () => origin,
    refused: () => refused,
    isSame: (database) =>
      origin === undefined || !(isOther(database, origin) || isRestored(database, origin)),
    require(database) {
      origin ??= database
      if (!isOther(database, origin)) {
        if (isRestored(database, origin)) throw new ReplacedTablesError()
        if (origin.table === null) origin = { ...origin, table: database.table }
        return
      }
      refused = database
      throw new OtherDatabaseError(describeOther('of the node', database, origin))
    },
    describe(label, database) {
      if (!database || !origin || !isOther(database, origin)) return undefined
      return describeOther(label, database, origin)
    },
  }
}
