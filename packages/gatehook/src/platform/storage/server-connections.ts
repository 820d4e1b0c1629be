/** The connections of a PostgreSQL server: how many are in use, and by which program (§18.1). */
import type { Database, Value } from './database.ts'
import { PROGRAM_OF_SESSION } from './session-name.ts'
import { raw, type Sql } from './sql.ts'

export interface ServerConnections {
  readonly used: number
  /** The connections that ordinary roles have in all. */
  readonly limit: number
  /** The program that has most of them, as it names itself; empty: it has no name. */
  readonly application: string
  readonly ofApplication: number
}

/** SQL of the connections as JSON. The server hides the kind of a session from other roles. */
const CONNECTIONS = raw(`(SELECT json_build_object('used', sum(count),
    'limit', current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
      - COALESCE(current_setting('reserved_connections', true)::int, 0),
    'application', (array_agg(application_name ORDER BY count DESC))[1],
    'ofApplication', max(count))::text
  FROM (SELECT ${PROGRAM_OF_SESSION} AS application_name, count(*) AS count
    FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL
    GROUP BY 1) AS applications)`)

/** SQL of the connections for `parseServerConnections`; undefined for a file. */
export const selectServerConnections = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? CONNECTIONS : undefined

export const parseServerConnections = (value: Value): ServerConnections =>
  JSON.parse(String(value)) as ServerConnections

/** Returns a sentence on a server that has no connection left. */
export function describeFullServer(connections: ServerConnections): string {
  const { used, limit, application, ofApplication } = connections
  const program = application === '' ? 'a program without a name' : application
  return (
    `The server of the database has ${used} of ${limit} connections in use, ${ofApplication} by ` +
    `${program}: a node that starts waits for one. End some, or raise max_connections.`
  )
}
