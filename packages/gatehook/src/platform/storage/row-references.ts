/** Finds rows that refer to rows that do not exist. PostgreSQL guarantees that there are none. */
import type { OnPart } from '../../kernel/pace.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

interface BrokenReference {
  readonly table: string
  /** The table that lacks the rows. */
  readonly missing: string
  readonly rows: number
}

/** Returns undefined where the database guarantees that references are valid. */
export async function findBrokenReferences(
  db: Database,
  onPart: OnPart,
): Promise<readonly BrokenReference[] | undefined> {
  if (db.name !== 'sqlite') return undefined
  const tables = await db.all(sql`SELECT name FROM sqlite_schema WHERE type = 'table'
    AND name NOT LIKE 'sqlite%' ORDER BY name`)
  const broken: BrokenReference[] = []
  for (const [at, { name }] of tables.entries()) {
    const rows = await db.all(sql`SELECT parent, count(*) AS rows
      FROM pragma_foreign_key_check(${name}) GROUP BY parent`)
    for (const { parent, rows: count } of rows) {
      broken.push({ table: name, missing: parent, rows: count })
    }
    await onPart(at + 1, tables.length, 'tables')
  }
  return broken
}
