/**
 * Compares the database with the tables and columns that this node uses: those of the engine, as
 * its start found them, and those of the declaration. Another program can change them at any time.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Log } from '../../kernel/log.ts'
import type { ColumnUse } from '../../platform/nodes/registry.ts'
import { type Reader, SchemaError, type Statement } from '../../platform/storage/database.ts'
import { storageUnavailable } from '../../platform/storage/transaction.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { describeWords, hasWords } from './search-index.ts'
import { storedColumns, wordTable } from './table.ts'

type TableColumn = readonly [table: string, column: string]

export interface SchemaCheck {
  /** Says that parts are missing; `detail` and the log name them. */
  check(): Promise<{ readonly message: string; readonly detail: string } | undefined>
  /**
   * Returns `storage_unavailable` for the error of a statement that met a missing part. Any other
   * error is returned as it is: own code can name a column that never existed. Never rejects.
   */
  explain(error: unknown): Promise<unknown>
}

interface SchemaCheckDeps {
  readonly db: Reader
  readonly log: Log
  readonly resources: readonly ResourceDefinition[]
}

/**
 * Returns the columns of resources that the declaration uses, and of their words. The type of words
 * is what they follow from.
 */
export const columnUse = (resources: readonly ResourceDefinition[]): ColumnUse =>
  Object.fromEntries(
    resources.flatMap((definition): [string, Record<string, string>][] => {
      const { name, fields } = definition
      const types = storedColumns(fields).map(([column, spec]) => [column, columnType(spec)])
      const use = { scope: 'int', ...Object.fromEntries(types) }
      if (!hasWords(definition)) return [[name, use]]
      return [
        [name, use],
        [wordTable(definition), { word: describeWords(definition) }],
      ]
    }),
  )

/** Reads the tables of the engine; the database must be migrated. */
export async function openSchemaCheck({
  db,
  log,
  resources,
}: SchemaCheckDeps): Promise<SchemaCheck> {
  const declared = Object.entries(columnUse(resources)).flatMap(([table, columns]) =>
    Object.keys(columns).map((column): TableColumn => [table, column]),
  )
  const used = [
    ...(await listColumns(
      db,
      engineTables.map(({ name }) => name),
    )),
    ...declared,
  ]
  const tables = [...new Set(used.map(([table]) => table))]
  const indexes = await listUniqueIndexes(db, tables)
  let lastMissing = ''
  const isIncomplete = async () => {
    const missing = (await findMissing(db, used)).map((path) => path.join('.')).join(', ')
    if (missing !== lastMissing) report(log, missing)
    lastMissing = missing
    return missing !== ''
  }
  return {
    async check() {
      if (!(await isIncomplete())) return undefined
      const detail = `The database lacks ${namesOf(lastMissing)}, which this node uses. ${CURE}`
      return { message: MISSING, detail }
    },
    async explain(error) {
      if (!(error instanceof SchemaError)) return error
      try {
        if (await isIncomplete()) return storageUnavailable(error)
        const present = new Set(await listUniqueIndexes(db, tables))
        const lost = indexes.filter((name) => !present.has(name))
        if (lost.length === 0) return error
        return storageUnavailable(new SchemaError(new Error(lost.join(', ')), 'a unique index'))
      } catch (failure) {
        return failure
      }
    },
  }
}

const MISSING =
  'The database lacks tables or columns that this node uses. The log and the page System name them.'
const CURE = 'Another program has changed its tables: restore them, or end this node.'

/** A table that is missing as a whole has many columns. */
const NAMES_MAX = 5

function namesOf(missing: string): string {
  const names = missing.split(', ')
  const others = names.length - NAMES_MAX
  const listed = names.slice(0, NAMES_MAX).join(', ')
  return others > 0 ? `${listed} and ${others} others` : listed
}

function report(log: Log, missing: string): void {
  if (missing === '') log.info('the database has all columns of this node again')
  else log.error({ missing }, `the database lacks columns that this node uses. ${CURE}`)
}

/** Returns the columns of the tables that exist. */
async function listColumns(db: Reader, tables: readonly string[]): Promise<TableColumn[]> {
  const statement: Statement = {
    sql: `SELECT t.value, c.name FROM json_each(?) AS t, pragma_table_info(t.value) AS c`,
    text: `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND a.attnum > 0
      AND NOT a.attisdropped AND c.relname IN (SELECT jsonb_array_elements_text($1::jsonb))`,
    values: [JSON.stringify(tables)],
  }
  return (await db.arrays(statement)) as unknown as TableColumn[]
}

/** Returns the names of the unique indexes of tables. */
async function listUniqueIndexes(db: Reader, tables: readonly string[]): Promise<string[]> {
  const statement: Statement = {
    sql: `SELECT i.name FROM json_each(?) AS t, pragma_index_list(t.value) AS i WHERE i."unique"`,
    text: `SELECT i.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid
      JOIN pg_class i ON i.oid = x.indexrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND x.indisunique AND x.indisvalid
      AND c.relname IN (SELECT jsonb_array_elements_text($1::jsonb))`,
    values: [JSON.stringify(tables)],
  }
  return (await db.arrays(statement)).map(([name]) => String(name))
}

/** Returns the columns that the database lacks; of a table that it lacks, all. */
async function findMissing(db: Reader, used: readonly TableColumn[]): Promise<TableColumn[]> {
  const statement: Statement = {
    sql: `SELECT u.value ->> 0, u.value ->> 1 FROM json_each(?) AS u WHERE NOT EXISTS
      (SELECT 1 FROM pragma_table_info(u.value ->> 0) AS c WHERE c.name = u.value ->> 1)`,
    text: `SELECT u.value ->> 0, u.value ->> 1 FROM jsonb_array_elements($1::jsonb) AS u
      LEFT JOIN (SELECT c.relname, a.attname FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace
        AND a.attnum > 0 AND NOT a.attisdropped) AS c
      ON c.relname = u.value ->> 0 AND c.attname = u.value ->> 1 WHERE c.relname IS NULL`,
    values: [JSON.stringify(used)],
  }
  return (await db.arrays(statement)) as unknown as TableColumn[]
}
