/**
 * The migrations of renamed columns with their indexes: those of a service whose nodes are stopped,
 * and those of one whose nodes of the previous release run on PostgreSQL. There a trigger writes
 * both columns until the last of these nodes has ended. SQLite has one node, which renames the
 * columns. Pure.
 */

import type { DatabaseName } from '../../platform/storage/expressions.ts'
import { foldedColumn } from '../../protocol/fields/folding.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { columnType } from '../resources/column-types.ts'
import { createIndex, nameOfIndex, type TableIndex } from '../resources/table.ts'
import type { LockedField } from './lock.ts'

export interface RenamedColumn {
  readonly old: string
  readonly now: string
  readonly field: LockedField
}

export interface TableRename {
  readonly table: string
  readonly columns: readonly RenamedColumn[]
  /** The indexes of the table, as declared now and stored by each database. */
  readonly indexes: Readonly<Record<DatabaseName, readonly TableIndex[]>>
}

export interface RenameMigrations {
  readonly table: string
  /** The number of `rename`. */
  readonly number: number
  /** Code of the migration while no node runs. */
  readonly rename: string
  /** The option of the resource until `contract`. */
  readonly retired: string
  /** Code of the migrations of the release that renames the fields, beside running nodes. */
  readonly expand: string
  /** Code of the migration of a later release, which removes `retired`. */
  readonly contract: string
}

/** Returns the columns of the fields: an e-mail address has one with its folded text, too. */
const columnsOf = ({ columns }: TableRename): RenamedColumn[] =>
  columns.flatMap(({ old, now, field }) => [
    { old, now, field },
    ...(fieldKindOf(field)?.isFolded
      ? [{ old: foldedColumn(old), now: foldedColumn(now), field }]
      : []),
  ])

/** Returns the statements of the trigger of both columns. The changed column decides. */
const triggerSql = (rename: TableRename, name: string): string[] => [
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN`,
  ...columnsOf(rename).flatMap(({ old, now }) => [
    `  IF TG_OP = 'INSERT' THEN NEW.${now} := coalesce(NEW.${now}, NEW.${old});`,
    `  ELSIF NEW.${now} IS NOT DISTINCT FROM OLD.${now} THEN NEW.${now} := NEW.${old};`,
    '  END IF;',
    `  NEW.${old} := NEW.${now};`,
  ]),
  '  RETURN NEW;',
  'END $$;',
  `CREATE TRIGGER ${name} BEFORE INSERT OR UPDATE ON ${rename.table}`,
  `  FOR EACH ROW EXECUTE FUNCTION ${name}();`,
]

interface RenameStep {
  readonly name: string
  readonly sqlite: readonly string[]
  readonly postgres: readonly string[]
}

/** Writes the statements as a text of the declaration. */
const sqlCode = (statements: readonly string[]): string =>
  statements.length === 1 ? `'${statements[0]}'` : `\`\n    ${statements.join('\n    ')}\``

const migrationCode = (
  number: number,
  table: string,
  { name, sqlite, postgres }: RenameStep,
): string =>
  `{ number: ${number}, name: '${name}', table: '${table}', sql: {\n` +
  `  sqlite: ${sqlCode(sqlite)},\n  postgres: ${sqlCode(postgres)},\n} },`

/** Ends each statement but the last one. */
const inOrder = (statements: readonly string[]): string[] =>
  statements.map((statement, at) => (at < statements.length - 1 ? `${statement};` : statement))

interface RenamedIndex {
  readonly index: TableIndex
  readonly old: string
}

/** Returns the indexes of renamed columns with their former names. */
function renamedIndexes(rename: TableRename, indexes: readonly TableIndex[]): RenamedIndex[] {
  const columns = columnsOf(rename)
  const oldOf = (name: string) => columns.find(({ now }) => now === name)?.old ?? name
  return indexes
    .map((index) => ({ index, old: nameOfIndex(rename.table, index, oldOf) }))
    .filter(({ index, old }) => index.name !== old)
}

/** The migration while no node runs. SQLite has no name of an index that changes. */
function renameStep(rename: TableRename): RenameStep {
  const { table } = rename
  const ofSqlite = renamedIndexes(rename, rename.indexes.sqlite)
  const columns = columnsOf(rename).map(
    ({ old, now }) => `ALTER TABLE ${table} RENAME COLUMN ${old} TO ${now}`,
  )
  const dropped = ofSqlite.map(({ old }) => `DROP INDEX IF EXISTS ${old}`)
  const unique = ofSqlite.filter(({ index }) => index.unique)
  const created = unique.map(({ index }) => createIndex(table, index))
  const renamed = renamedIndexes(rename, rename.indexes.postgres).map(
    ({ index, old }) => `ALTER INDEX IF EXISTS ${old} RENAME TO ${index.name}`,
  )
  return {
    name: rename.columns.map(({ old, now }) => `${old} becomes ${now}`).join(', '),
    sqlite: inOrder([...dropped, ...columns, ...created]),
    postgres: inOrder([...columns, ...renamed]),
  }
}

const NOTHING = ['SELECT 1']

/** Returns the migrations beside running nodes. SQLite needs no statement of the later ones. */
function onlineSteps(rename: TableRename): { expand: RenameStep[]; contract: RenameStep } {
  const { table } = rename
  const columns = columnsOf(rename)
  const fields = rename.columns
  const all = (names: readonly string[]) => names.join(' and ')
  const olds = all(fields.map(({ old }) => old))
  const nows = all(fields.map(({ now }) => now))
  const are = fields.length > 1 ? 'are' : 'is'
  const trigger = `${table}_${olds}_and_${nows}`.replaceAll(' ', '_').slice(0, 63)
  const { name, sqlite } = renameStep(rename)
  const later = (of: string, ...statements: string[]): RenameStep[] =>
    statements.length > 0 ? [{ name: of, sqlite: NOTHING, postgres: inOrder(statements) }] : []
  const added = columns.map(({ now, field }) => `ADD COLUMN ${now} {${columnType(field)}}`)
  const first = {
    name,
    sqlite,
    postgres: [`ALTER TABLE ${table} ${added.join(', ')};`, ...triggerSql(rename, trigger)],
  }
  const copy = columns.map(({ old, now }) => `${now} = ${old}`).join(', ')
  const missing = columns.map(({ now }) => `${now} IS NULL`).join(' OR ')
  const required = fields.filter(({ field }) => !field.nullable)
  const notNull = required.map(({ now }) => `ALTER TABLE ${table} ALTER COLUMN ${now} SET NOT NULL`)
  const references = fields.flatMap(({ now, field: { target } }) =>
    target === undefined
      ? []
      : `ALTER TABLE ${table} ADD FOREIGN KEY (scope, ${now}) REFERENCES ${target} (scope, id)`,
  )
  const unique = renamedIndexes(rename, rename.indexes.postgres).filter(({ index }) => index.unique)
  const drops = columns.map(({ old }) => `DROP COLUMN ${old}`).join(', ')
  const [contract] = later(
    `${olds} ${are} dropped`,
    `DROP TRIGGER ${trigger} ON ${table}`,
    `DROP FUNCTION ${trigger}()`,
    `ALTER TABLE ${table} ${drops}`,
  )
  return {
    expand: [
      first,
      ...later(`${nows} of existing rows`, `UPDATE ${table} SET ${copy} WHERE ${missing}`),
      ...later(`${nows} ${are} never null`, ...notNull),
      ...later(`${nows} ${are} unique`, ...unique.map(({ index }) => createIndex(table, index))),
      ...later(`${nows} refer to rows`, ...references),
    ],
    contract: contract!,
  }
}

/**
 * Returns the migrations of each table. The numbers of both ways start with `next`; those of the
 * later release follow those of all tables.
 */
export function renameMigrations(tables: readonly TableRename[], next: number): RenameMigrations[] {
  const renames = tables.map((rename) => ({ rename, ...onlineSteps(rename) }))
  let number = next
  const expands = renames.map(({ rename: { table }, expand }) =>
    expand.map((step) => migrationCode(number++, table, step)).join('\n'),
  )
  return renames.map(({ rename, contract }, at) => ({
    table: rename.table,
    number: next + at,
    rename: migrationCode(next + at, rename.table, renameStep(rename)),
    retired: `retired: [${rename.columns.map(({ old }) => `'${old}'`).join(', ')}],`,
    expand: expands[at]!,
    contract: migrationCode(number++, rename.table, contract),
  }))
}
