/** Reads which columns and unique indexes tables have, as the database lists them. */
import type { Reader, Statement } from './database.ts'

export interface TableParts {
  /** `orders.amount` */
  readonly columns: ReadonlySet<string>
  /** Names of usable ones, also of those that keys have. */
  readonly uniqueIndexes: ReadonlySet<string>
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
        JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indisunique AND x.indisvalid`,
    values: [JSON.stringify(tables)],
  }
  const rows = (await from.arrays(statement)) as unknown as readonly [string, number][]
  const namesOf = (kind: number) =>
    new Set(rows.filter(([, other]) => Number(other) === kind).map(([name]) => name))
  return { columns: namesOf(0), uniqueIndexes: namesOf(1) }
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
