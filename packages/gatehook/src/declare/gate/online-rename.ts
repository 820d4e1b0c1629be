/**
 * The migrations that rename a column while nodes of the previous release run on PostgreSQL. A
 * trigger writes both columns until the last of these nodes has ended. SQLite has one node, which
 * renames the column. Pure.
 */
import { foldedColumn } from '../../protocol/fields/folding.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { columnType } from '../resources/column-types.ts'
import type { LockedField } from './lock.ts'

export interface RenamedColumn {
  readonly table: string
  readonly old: string
  readonly now: string
  readonly field: LockedField
}

export interface OnlineRename {
  readonly table: string
  /** The option of the resource until `contract`. */
  readonly retired: string
  /** Code of the migrations of the release that renames the field. */
  readonly expand: string
  /** Code of the migration of a later release, which removes `retired`. */
  readonly contract: string
}

type ColumnNames = Pick<RenamedColumn, 'old' | 'now'>

/** Returns the columns of the field: an e-mail address has one with its folded text, too. */
const columnsOf = ({ old, now, field }: RenamedColumn): ColumnNames[] =>
  fieldKindOf(field)?.isFolded
    ? [
        { old, now },
        { old: foldedColumn(old), now: foldedColumn(now) },
      ]
    : [{ old, now }]

/** Returns the statements of both columns' trigger. The changed column decides. */
const triggerSql = (column: RenamedColumn, name: string): string[] => [
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN`,
  ...columnsOf(column).flatMap(({ old, now }) => [
    `  IF TG_OP = 'INSERT' THEN NEW.${now} := coalesce(NEW.${now}, NEW.${old});`,
    `  ELSIF NEW.${now} IS NOT DISTINCT FROM OLD.${now} THEN NEW.${now} := NEW.${old};`,
    '  END IF;',
    `  NEW.${old} := NEW.${now};`,
  ]),
  '  RETURN NEW;',
  'END $$;',
  `CREATE TRIGGER ${name} BEFORE INSERT OR UPDATE ON ${column.table}`,
  `  FOR EACH ROW EXECUTE FUNCTION ${name}();`,
]

interface RenameStep {
  readonly name: string
  readonly sqlite: string
  readonly postgres: readonly string[]
}

function migrationCode(
  number: number,
  table: string,
  { name, sqlite, postgres }: RenameStep,
): string {
  const text = postgres.length === 1 ? `"${postgres[0]}"` : `\`\n    ${postgres.join('\n    ')}\``
  return (
    `{ number: ${number}, name: '${name}', table: '${table}', sql: {\n` +
    `  sqlite: '${sqlite}',\n  postgres: ${text},\n} },`
  )
}

/** Returns the migrations of a rename. SQLite needs no statement of the later ones. */
function stepsOf(column: RenamedColumn): { expand: readonly RenameStep[]; contract: RenameStep } {
  const { table, old, now, field } = column
  const columns = columnsOf(column)
  const each = (change: (names: ColumnNames) => string, separator: string) =>
    columns.map(change).join(separator)
  const rename = ({ old, now }: ColumnNames) =>
    `ALTER TABLE ${table} RENAME COLUMN ${old} TO ${now}`
  const added = ({ now }: ColumnNames) => `ADD COLUMN ${now} {${columnType(field)}}`
  const trigger = `${table}_${old}_and_${now}`.slice(0, 63)
  const later = (name: string, ...postgres: string[]): RenameStep => ({
    name,
    sqlite: 'SELECT 1',
    postgres,
  })
  const copy = each(({ old, now }) => `${now} = ${old}`, ', ')
  const first = {
    name: `${old} becomes ${now}`,
    sqlite: each(rename, '; '),
    postgres: [`ALTER TABLE ${table} ${each(added, ', ')};`, ...triggerSql(column, trigger)],
  }
  const second = later(
    `${now} of existing rows`,
    `UPDATE ${table} SET ${copy} WHERE ${now} IS NULL`,
  )
  const notNull = `ALTER TABLE ${table} ALTER COLUMN ${now} SET NOT NULL`
  const third = field.nullable ? [] : [later(`${now} is never null`, notNull)]
  return {
    expand: [first, second, ...third],
    contract: later(
      `${old} is dropped`,
      `DROP TRIGGER ${trigger} ON ${table};`,
      `DROP FUNCTION ${trigger}();`,
      `ALTER TABLE ${table} ${each(({ old }) => `DROP COLUMN ${old}`, ', ')}`,
    ),
  }
}

/**
 * Returns the recipe of each column. The numbers of the migrations start with `next`; those of the
 * later release follow those of all columns.
 */
export function onlineRenames(columns: readonly RenamedColumn[], next: number): OnlineRename[] {
  const renames = columns.map((column) => ({ ...column, ...stepsOf(column) }))
  let number = next
  const expands = renames.map(({ table, expand }) =>
    expand.map((step) => migrationCode(number++, table, step)).join('\n'),
  )
  return renames.map(({ table, old, contract }, at) => ({
    table,
    retired: `retired: ['${old}'],`,
    expand: expands[at]!,
    contract: migrationCode(number++, table, contract),
  }))
}
