/**
 * The names of the sessions of PostgreSQL (`application_name`), by which operators and other nodes
 * recognize a node, also behind PgBouncer, which passes them on. Pure.
 */
const PROGRAM = 'gatehook'
const PREFIX = `${PROGRAM} `

/** `node`: the name of the node; undefined for a command. The server stores 63 characters. */
export const sessionName = (node: string | undefined): string =>
  node === undefined ? PROGRAM : PREFIX + node

/** SQL of the program of a session: all nodes of the installation are one. */
export const PROGRAM_OF_SESSION = `CASE WHEN application_name LIKE '${PREFIX}%' THEN '${PROGRAM}'
  ELSE COALESCE(application_name, '') END`

/** Returns the name of the node; undefined for the session of a command or another program. */
export const nodeOfSession = (application: string): string | undefined =>
  application.startsWith(PREFIX) ? application.slice(PREFIX.length) : undefined
