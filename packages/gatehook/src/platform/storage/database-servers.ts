/** How the servers of a database answer, as the process knows it. */
import type { DatabaseIdentity } from '../../kernel/database-target.ts'
import type { PrimaryFault } from './primary-fault.ts'

export interface DatabaseServers {
  /** Why no server answers as the primary; undefined while one does. */
  fault(): PrimaryFault | undefined
  /** Returns the number of connections that hung while their server opened others. */
  hungCount(): number
  /** The database in which the process began; undefined on SQLite. */
  origin(): DatabaseIdentity | undefined
  /** Names the addresses that lead to another database, for operators; undefined: none does. */
  misled(): string | undefined
  /** Why the address beside a pooler has not answered for some seconds; undefined: it has. */
  directFault(): PrimaryFault | undefined
  /** Whether a pooler gave the node no connection to the database for a second, just now. */
  isStarved(): boolean
}

/** A file has no servers. */
export const NO_SERVERS: DatabaseServers = {
  fault: () => undefined,
  hungCount: () => 0,
  origin: () => undefined,
  misled: () => undefined,
  directFault: () => undefined,
  isStarved: () => false,
}
