/** Foreign keys and sequences of the target. */
import type { Database } from '../database.ts'
import { lastAssigned, serialColumn } from '../sequences.ts'
import { prepareStatement, sql } from '../sql.ts'
import type { MovedTable } from './tables.ts'

const FOREIGN_KEYS = `SELECT conname AS name, relname AS "table",
  pg_get_constraintdef(c.oid) AS definition
  FROM pg_constraint c JOIN pg_class r ON r.oid = conrelid
  WHERE contype = 'f' AND relnamespace = current_schema()::regnamespace`

export interface ForeignKey {
  readonly name: string
  readonly table: string
  readonly definition: string
}

/**
 * Drops the foreign keys of the moved tables of a PostgreSQL target, so that rows may arrive in any
 * order, and returns them: a table that others add meanwhile keeps its own. A SQLite target is
 * opened without checks of references (`OpenDeps.checksReferences`).
 */
export async function dropForeignKeys(
  target: Database,
  tables: readonly MovedTable[],
): Promise<readonly ForeignKey[]> {
  if (target.name === 'sqlite') return []
  const moved = new Set(tables.map(({ name }) => name))
  const existing = await target.all(prepareStatement(FOREIGN_KEYS)([]))
  const foreignKeys = (existing as unknown as ForeignKey[]).filter(({ table }) => moved.has(table))
  await target.migrate(async (tx, ddl) => {
    for (const { name, table, definition } of foreignKeys) {
      await tx.run(sql`INSERT INTO gh_move_keys (name, table_name, definition)
        VALUES (${name}, ${table}, ${definition}) ON CONFLICT DO NOTHING`)
      await ddl(`ALTER TABLE "${table}" DROP CONSTRAINT "${name}"`)
    }
  })
  const rows = await target.all(sql`SELECT name, table_name AS "table", definition
    FROM gh_move_keys ORDER BY name`)
  return rows as unknown as ForeignKey[]
}

/** Continues each sequence of the source, so that no id is reused. */
export async function setSequences(
  source: Database,
  target: Database,
  tables: readonly MovedTable[],
): Promise<void> {
  for (const { name } of tables) {
    const column = await serialColumn(target, name)
    if (column === undefined) continue
    const last = await lastAssigned(source, name)
    await target.write(async (tx) => {
      if (target.name === 'sqlite') {
        await tx.run(sql`DELETE FROM sqlite_sequence WHERE name = ${name}`)
        await tx.run(sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${name}, ${last})`)
      } else if (last > 0) {
        await tx.get(sql`SELECT setval(pg_get_serial_sequence(${name}, ${column}), ${last})`)
      }
    })
  }
}
