/** Reads the columns and unique indexes of tables, and those that PostgreSQL does not log. */
import type { Reader, Statement } from './database.ts'

export interface TableParts {
  /** `orders.amount` */
  readonly columns: ReadonlySet<string>
  /** Names of usable ones, also of those that keys have. */
  readonly uniqueIndexes: ReadonlySet<string>
  /** Tables and partitions whose rows a crash deletes, and that no standby has. */
  readonly unlogged: readonly string[]
}

/** Returns the parts of those of the tables that exist. */
export async function readTableParts(from: Reader, tables: readonly string[]): Promise<TableParts> {
  const statement: Statement = {
    sql: `WITH t AS (SELECT value AS name FROM json_each(?))
      SELECT t.name || '.' || c.name, 0 FROM t, pragma_table_info(t.name) AS c
      UNION ALL SELECT i.name, 1 FROM t, pragma_index_list(t.name) AS i WHERE i."unique"`,
    text: `WITH t AS (SELECT oid, relname AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace
        AND relname IN (SELECT jsonb_array_elements_text($1::jsonb)))
      SELECT t.name || '.' || a.attname, 0 FROM t JOIN pg_attribute a ON a.attrelid = t.oid
        WHERE a.attnum > 0 AND NOT a.attisdropped
      UNION ALL SELECT i.relname::text, 1 FROM t JOIN pg_index x ON x.indrelid = t.oid
        JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indisunique AND x.indisvalid
      UNION ALL SELECT c.relname::text, 2 FROM pg_class c
        WHERE c.relpersistence = 'u' AND c.relkind = 'r' AND (c.oid IN (SELECT oid FROM t)
          OR c.oid IN (SELECT inhrelid FROM pg_inherits JOIN t ON t.oid = inhparent))`,
    values: [JSON.stringify(tables)],
  }
  const rows = (await from.arrays(statement)) as unknown as readonly [string, number][]
  const namesOf = (kind: number) =>
    new Set(rows.filter(([, other]) => Number(other) === kind).map(([name]) => name))
  return { columns: namesOf(0), uniqueIndexes: namesOf(1), unlogged: [...namesOf(2)].sort() }
}

/** Returns the statements that create the unique indexes of tables, by name. */
export async function readIndexDefinitions(
  from: Reader,
  tables: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await from.arrays({
    // SQLite has no statement for the index of a key, which cannot be dropped.
    sql: `SELECT i.name, s.sql FROM json_each(?) AS t, pragma_index_list(t.value) AS i
      JOIN sqlite_schema AS s ON s.name = i.name WHERE i."unique" AND s.sql IS NOT NULL`,
    text: `SELECT i.relname, pg_get_indexdef(i.oid) FROM pg_index x
      JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND x.indisunique AND x.indisvalid
      AND c.relname IN (SELECT jsonb_array_elements_text($1::jsonb))`,
    values: [JSON.stringify(tables)],
  })
  return new Map(rows as unknown as readonly [string, string][])
}

/** A column with its type, as the database names it. */
export type TypedColumn = readonly [table: string, column: string, type: string]

/** Returns the columns of all tables that are not the engine's, also those of a transaction. */
export const listForeignColumns = async (from: Reader): Promise<readonly TypedColumn[]> =>
  (await from.arrays({
    sql: `SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND t.name NOT LIKE 'gh\\_%' ESCAPE '\\'`,
    text: `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
      AND c.relname NOT LIKE 'gh\\_%' AND a.attnum > 0 AND NOT a.attisdropped`,
    values: [],
  })) as unknown as readonly TypedColumn[]
