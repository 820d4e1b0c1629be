/**
 * The database in which a process began. An address can lead to another one later: a pooler, a name
 * or a rename points it to a copy, which accepts all statements of the node. The identifier of the
 * cluster and the object id of the database distinguish them (§18.2).
 */
import type { DatabaseIdentity } from '../../kernel/database-target.ts'
import { StandbyError } from './postgres-errors.ts'

/** SQL of the columns of an identity. */
export const OF_DATABASE = `current_database()::text AS name,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS oid`
export const OF_CLUSTER = '(SELECT system_identifier::text FROM pg_control_system()) AS system'

const isOther = (database: DatabaseIdentity, other: DatabaseIdentity): boolean =>
  database.oid !== other.oid ||
  (database.system !== null && other.system !== null && database.system !== other.system)

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

export interface DatabaseOrigin {
  current(): DatabaseIdentity | undefined
  /** Whether a database is that of the process; the first one is. */
  isSame(database: DatabaseIdentity): boolean
  /** Throws `OtherDatabaseError`. */
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
    isSame: (database) => origin === undefined || !isOther(database, origin),
    require(database) {
      origin ??= database
      if (!isOther(database, origin)) return
      refused = database
      throw new OtherDatabaseError(describeOther('of the node', database, origin))
    },
    describe(label, database) {
      if (!database || !origin || !isOther(database, origin)) return undefined
      return describeOther(label, database, origin)
    },
  }
}
