/**
 * The connections of a PostgreSQL server, by the limit that has the fewest left: of the server, of
 * the role of the node, or of the database (§18.1). Also by which program.
 */
import type { Database, Value } from './database.ts'
import { PROGRAM_OF_SESSION } from './session-name.ts'
import { raw, type Sql } from './sql.ts'

type LimitOwner = 'server' | 'role' | 'database'

export interface ServerConnections {
  /** The owner of the limit. */
  readonly of: LimitOwner
  /** The statement that removes the limit of a role or a database. */
  readonly repair: string | null
  readonly used: number
  /** The connections that ordinary roles have in all. */
  readonly limit: number
  /** The program that has most of them, as it names itself; empty: it has no name. */
  readonly application: string
  readonly ofApplication: number
}

/** Superusers have no limit but that of the server. */
const LIMITS = `SELECT 'server' AS of, NULL::oid AS id, current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
      - COALESCE(current_setting('reserved_connections', true)::int, 0) AS "limit", NULL AS repair
  UNION ALL SELECT 'role', oid, rolconnlimit,
      format('ALTER ROLE %I CONNECTION LIMIT -1', rolname) FROM pg_roles
    WHERE rolname = session_user AND rolconnlimit >= 0 AND NOT rolsuper
  UNION ALL SELECT 'database', d.oid, d.datconnlimit,
      format('ALTER DATABASE %I CONNECTION LIMIT -1', d.datname)
    FROM pg_database d JOIN pg_roles r ON r.rolname = session_user
    WHERE d.datname = current_database() AND d.datconnlimit >= 0 AND NOT r.rolsuper`

/** SQL of the connections as JSON. The server hides the kind of a session from other roles. */
const CONNECTIONS =
  raw(`(SELECT json_build_object('of', l.of, 'repair', l.repair, 'used', sum(count),
    'limit', l."limit", 'application', (array_agg(s.application ORDER BY count DESC))[1],
    'ofApplication', max(count))::text
  FROM (${LIMITS}) AS l CROSS JOIN LATERAL (
    SELECT ${PROGRAM_OF_SESSION} AS application, count(*) AS count FROM pg_stat_activity
    WHERE datid IS NOT NULL AND usesysid IS NOT NULL
      AND CASE l.of WHEN 'role' THEN usesysid = l.id WHEN 'database' THEN datid = l.id
        ELSE true END
    GROUP BY 1) AS s
  GROUP BY l.of, l.repair, l."limit" ORDER BY l."limit" - sum(count) LIMIT 1)`)

/** SQL of the connections for `parseServerConnections`; undefined for a file. */
export const selectServerConnections = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? CONNECTIONS : undefined

export const parseServerConnections = (value: Value): ServerConnections =>
  JSON.parse(String(value)) as ServerConnections

const OWNERS: Readonly<Record<LimitOwner, string>> = {
  server: 'The server of the database',
  role: 'The role of this node',
  database: 'The database',
}

/** Returns a sentence for any caller on a limit that leaves no connection. */
export const summarizeFullServer = ({ of }: Pick<ServerConnections, 'of'>): string =>
  `${OWNERS[of]} has no connection left for further clients.`

/** Returns a sentence for operators on a limit that leaves no connection. */
export function describeFullServer(connections: ServerConnections): string {
  const { of, repair, used, limit, application, ofApplication } = connections
  const program = application === '' ? 'a program without a name' : application
  const effect =
    of === 'server'
      ? 'a node that starts waits for one'
      : 'nodes wait for those that they have, and one that starts for a free one'
  const remedy = repair === null ? 'raise max_connections' : `raise the limit: ${repair}`
  return (
    `${OWNERS[of]} has ${used} of ${limit} connections in use, ${ofApplication} by ` +
    `${program}: ${effect}. End some, or ${remedy}.`
  )
}
