/**
 * The statements that bring the table of a resource in line with its definition (§6.6). Pure;
 * `migrate.ts` runs the statements.
 */

import type { Column, ColumnType, Dialect, IndexDdl } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { foldedColumn } from '../../protocol/fields/folding.ts'
import { columnType } from './column-types.ts'
import { indexOfExpressions, isEarlierExpression } from './derived.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD } from './soft-deletion.ts'
import {
  columnSql,
  createIndex,
  createTable,
  definitionOf,
  indexesOf,
  outdatedIndexes,
  storedColumns,
  storedIndex,
  type TableIndex,
} from './table.ts'

interface StoredTable {
  readonly columns: readonly Column[]
  readonly indexes: readonly string[]
  /** Columns that a start has added: the previous declaration, which lacks them, can run. */
  readonly additions?: readonly string[]
}

/** An index that the table does not have yet. */
export interface MissingIndex extends IndexDdl {
  /** The columns after the scope, as in `Collection.indexes`. */
  readonly columns: readonly string[]
}

export interface TablePlan {
  /** Creates the table with its indexes, or adds columns. */
  readonly ddl: readonly string[]
  /** Indexes of a table in use. */
  readonly indexes: readonly MissingIndex[]
  readonly unusedIndexes: readonly string[]
  /** A sentence per change that needs a reviewed migration. */
  readonly rejected: readonly string[]
}

/** Returns the indexes of a table as the database has them. */
export const storedIndexes = (
  definition: ResourceDefinition,
  dialect: Dialect,
): readonly TableIndex[] => {
  const { name: database } = dialect
  return indexesOf(definition)
    .map((index) => indexOfExpressions(index, definition.fields, database))
    .map((index) => storedIndex(index, definition, database))
}

/** Plans additions, and the removal of unused indexes. Rejects other changes (§6.6). */
export function planTable(
  definition: ResourceDefinition,
  stored: StoredTable,
  dialect: Dialect,
): TablePlan {
  const { name: table, fields } = definition
  const listIndexes = indexesOf(definition)
  const indexes = storedIndexes(definition, dialect)
  if (stored.columns.length === 0) {
    const ddl = createTable(definition, indexes, dialect)
    return { ddl, indexes: [], unusedIndexes: [], rejected: [] }
  }
  const ddl: string[] = []
  const missingIndexes: MissingIndex[] = []
  const rejected: string[] = []
  const columns = new Map(stored.columns.map((column) => [column.name, column]))
  for (const [name, spec] of storedColumns(fields)) {
    const column = columns.get(name)
    const sql = columnSql(name, spec, dialect)
    if (column) rejected.push(...columnMistakes(table, name, spec, column, sql))
    else if (spec.default !== undefined || spec.nullable)
      ddl.push(`ALTER TABLE ${table} ADD COLUMN ${sql}`)
    else rejected.push(rejectNewColumn(table, name, sql))
  }
  const declaredNames = new Set(storedColumns(fields).map(([name]) => name))
  for (const name of columns.keys()) {
    const isRetired = definition.retired.some((old) => name === old || name === foldedColumn(old))
    const isExpected = name === 'scope' || declaredNames.has(name) || isRetired
    if (isExpected || stored.additions?.includes(name)) continue
    rejected.push(rejectRemovedColumn(table, name))
  }
  for (const [at, index] of indexes.entries()) {
    if (stored.indexes.includes(index.name)) continue
    if (index.unique) rejected.push(rejectNewUnique(table, index))
    else {
      const columns = listIndexes[at]!.columns.slice(1)
      const ddlOfIndex = { table, name: index.name, definition: definitionOf(table, index) }
      missingIndexes.push({ ...ddlOfIndex, columns })
    }
  }
  const outdatedNames = outdatedIndexes(definition, indexes)
  const unusedIndexes = stored.indexes.filter(
    (name) => outdatedNames.includes(name) || isEarlierExpression(name, indexes),
  )
  return { ddl, indexes: missingIndexes, unusedIndexes, rejected }
}

// A rejected change has a sentence with the SQL of its migration.

const rejectNewColumn = (table: string, name: string, sql: string): string =>
  `${table}.${name} is new and has no default for existing rows. ` +
  `Write: ALTER TABLE ${table} ADD COLUMN ${sql} DEFAULT <their value>`

const rejectRemovedColumn = (table: string, name: string): string => {
  const drop = `ALTER TABLE ${table} DROP COLUMN ${name}, its indexes first (DROP INDEX)`
  // Without the column, rows that are marked as deleted would be in lists, but not in totals.
  return name === DELETED_FIELD
    ? `${table}.${name} marks deleted rows, and softDelete is no longer declared. Write: ` +
        `DELETE FROM ${table} WHERE ${name} IS NOT NULL, after the rows that refer to them; ` +
        `then ${drop}`
    : `${table}.${name} holds data and is no longer declared. Write: ${drop}, ` +
        `or, for another name: ALTER TABLE ${table} RENAME COLUMN ${name} TO <name>`
}

const rejectNewUnique = (table: string, index: TableIndex): string =>
  `${table}: ${index.name} is new, and existing rows may violate it. ` +
  `Write: ${createIndex(table, index)}, after the statements that make the values unique`

/** Other tables, events and clients refer to the ids of existing rows. */
const rejectOtherIds = (table: string, { type }: Column, declared: ColumnType): string =>
  `${table}.id is stored as ${type}, declared as ${declared}. Existing rows have their ids: ` +
  'declare the other ids in a new resource, and create its rows from those of this one'

function columnMistakes(
  table: string,
  name: string,
  spec: FieldSpec,
  column: Column,
  sql: string,
): string[] {
  const type = columnType(spec)
  if (spec.kind === 'id' && column.type !== type) return [rejectOtherIds(table, column, type)]
  const now = column.nullable ? 'nullable' : 'never null'
  const differs =
    column.type !== type
      ? `is stored as ${column.type}, declared as ${spec.kind}${spec.idPrefix ? ' of texts' : ''}`
      : column.nullable !== spec.nullable && spec.kind !== 'id'
        ? `is stored as ${now}, declared otherwise`
        : undefined
  if (!differs) return []
  const needsDefault = !spec.nullable && spec.default === undefined
  return [
    `${table}.${name} ${differs}. ` +
      `Write: ALTER TABLE ${table} RENAME COLUMN ${name} TO ${name}_old; ` +
      `ALTER TABLE ${table} ADD COLUMN ${sql}${needsDefault ? ' DEFAULT <any value>' : ''}; ` +
      `UPDATE ${table} SET ${name} = <from ${name}_old>; ` +
      `ALTER TABLE ${table} DROP COLUMN ${name}_old, its indexes first (DROP INDEX)`,
  ]
}
