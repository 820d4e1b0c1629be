/** Tables of a PostgreSQL database that no installation of this schema created. */
import type { Database } from './database.ts'
import { prepareStatement } from './sql.ts'

export interface ForeignTables {
  /** In the schema of the installation, before it is installed; without those of extensions. */
  readonly inSchema: readonly string[]
  /** In other schemas, with their names. */
  readonly elsewhere: readonly string[]
}

/** A message names some of them. */
const NAMED_MAX = 5

const list = prepareStatement(
  `SELECT n.nspname AS schema, c.relname AS name, n.nspname = current_schema() AS here
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
     AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
       AND d.objid = c.oid AND d.deptype = 'e')
   ORDER BY here DESC, schema, name LIMIT ${NAMED_MAX * 2}`,
  "SELECT '' AS schema, '' AS name, 0 AS here WHERE FALSE",
)

/**
 * Returns at most ten tables before the engine creates its own. SQLite has none: the file of an
 * installation is no other program's.
 */
export async function listForeignTables(db: Database): Promise<ForeignTables> {
  const rows = await db.all<{ schema: string; name: string; here: number | null }>(list([]))
  const names = (isHere: boolean) => rows.filter(({ here }) => (here === 1) === isHere)
  return {
    inSchema: names(true).map(({ name }) => name),
    elsewhere: names(false).map(({ schema, name }) => `${schema}.${name}`),
  }
}
