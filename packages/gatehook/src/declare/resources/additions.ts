/**
 * The tables that starts and migrations created, and the columns that a start has added to a
 * table in use (decision 0022). A declaration that lacks one of the columns can still start.
 */
import type { Database, Reader, Tx } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { ResourceDefinition } from './resource.ts'
import { columnUse } from './schema-check.ts'

const ADDITIONS_TABLE = 'gh_service_additions'

/** The column of the row that records a table itself. */
const TABLE_ITSELF = ''

/** Returns the tables that a start or a migration of the service created. */
export async function listCreatedTables(reader: Reader): Promise<ReadonlySet<string>> {
  const rows = await reader.arrays(
    sql`SELECT table_name FROM gh_service_additions WHERE column_name = ${TABLE_ITSELF}`,
  )
  return new Set(rows.map(([name]) => String(name)))
}

/** Records tables as created by the service. */
export const recordTables = (tx: Tx, tables: readonly string[]): Promise<void> =>
  recordAdditions(
    tx,
    tables.map((table) => [table, TABLE_ITSELF, false] as const),
  )

/** Deletes the records of tables that a migration of the service renamed or dropped. */
export async function deleteTableRecords(tx: Tx, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await tx.run(sql`DELETE FROM gh_service_additions WHERE table_name = ${table}`)
  }
}

/** Returns the columns that a start, perhaps of a newer declaration, has added to the table. */
export async function listAdditions(
  db: Database,
  reader: Reader,
  table: string,
): Promise<string[]> {
  if (!(await tableExists(db, ADDITIONS_TABLE))) return []
  const rows = await reader.arrays(
    sql`SELECT column_name FROM gh_service_additions WHERE table_name = ${table}`,
  )
  return rows.map(([name]) => String(name))
}

/** Returns the paths of added columns that the declaration lacks: another one has added them. */
export async function listUndeclaredAdditions(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<string[]> {
  const used = columnUse(resources)
  const paths: string[] = []
  for (const { name, retired } of resources) {
    const additions = new Set(await listAdditions(db, db, name))
    const columns = (await db.columns(name)).map((column) => column.name)
    const isUndeclared = (column: string) =>
      additions.has(column) && used[name]![column] === undefined && !retired.includes(column)
    paths.push(...columns.filter(isUndeclared).map((column) => `${name}.${column}`))
  }
  return paths
}

/** Returns those of them that the engine computes. */
export async function listComputedAdditions(
  db: Database,
  resources: readonly ResourceDefinition[],
): Promise<string[]> {
  const rows = await db.arrays(
    sql`SELECT table_name, column_name FROM gh_service_additions WHERE computed = 1`,
  )
  const computed = new Set(rows.map((row) => row.join('.')))
  return (await listUndeclaredAdditions(db, resources)).filter((path) => computed.has(path))
}

/** A column that was added, and whether the engine computes it. */
type Addition = readonly [table: string, column: string, isComputed: boolean]

/** Records added columns, so that the previous declaration can be started again (rollback). */
export async function recordAdditions(tx: Tx, columns: readonly Addition[]): Promise<void> {
  for (const [table, column, isComputed] of columns) {
    await tx.run(sql`INSERT INTO gh_service_additions (table_name, column_name, computed)
      VALUES (${table}, ${column}, ${isComputed ? 1 : 0})
      ON CONFLICT (table_name, column_name) DO UPDATE SET computed = excluded.computed`)
  }
}

/** Records the added columns of `source` in `target` too, whose tables were created with them. */
export async function copyAdditions(source: Database, target: Database): Promise<void> {
  const rows = await source.arrays(
    sql`SELECT table_name, column_name, computed FROM gh_service_additions`,
  )
  const columns = rows.map(
    ([table, column, computed]) => [String(table), String(column), computed === 1] as const,
  )
  await target.write((tx) => recordAdditions(tx, columns))
}

export const tableExists = async (db: Database, table: string, tx?: Tx): Promise<boolean> =>
  (await db.columns(table, tx)).length > 0
