/** Tables of a PostgreSQL database that no installation of this schema created. */
import type { Database } from './database.ts'
import { prepareStatement } from './sql.ts'

export interface ForeignTables {
  /** In the schema of the installation, before it is installed; without those of extensions. */
  readonly inSchema: readonly string[]
  /** In other schemas, with their names. */
  readonly elsewhere: readonly string[]
}

/** Tables of the schema, and of others; a message names them. */
const NAMED_MAX = 5

const list = prepareStatement(
  `SELECT schema, name, here FROM (SELECT n.nspname AS schema, c.relname AS name,
     n.nspname IS NOT DISTINCT FROM current_schema() AS here,
     row_number() OVER (PARTITION BY n.nspname IS NOT DISTINCT FROM current_schema()
       ORDER BY n.nspname, c.relname) AS place
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
     AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
       AND d.objid = c.oid AND d.deptype = 'e')) AS tables
   WHERE place <= ${NAMED_MAX} ORDER BY place`,
  "SELECT '' AS schema, '' AS name, 0 AS here WHERE FALSE",
)

/**
 * Returns at most ten tables before the engine creates its own. SQLite has none: the file of an
 * installation is no other program's.
 */
export async function listForeignTables(db: Database): Promise<ForeignTables> {
  const rows = await db.all<{ schema: string; name: string; here: number }>(list([]))
  const names = (isHere: boolean) => rows.filter(({ here }) => (here === 1) === isHere)
  return {
    inSchema: names(true).map(({ name }) => name),
    elsewhere: names(false).map(({ schema, name }) => `${schema}.${name}`),
  }
}
