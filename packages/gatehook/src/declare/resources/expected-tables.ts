/**
 * What the database has of the tables of the engine and of resources, unless another program has
 * changed it: the definitions of columns, and indexes that are not unique. Pure.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Dialect } from '../../platform/storage/database.ts'
import { ownTables } from '../../platform/storage/migrate.ts'
import {
  columnOfCatalog,
  comparesColumns,
  comparesIndexes,
  indexStatements,
} from '../../platform/storage/table-ddl.ts'
import type { FoundColumn } from '../../platform/storage/table-parts.ts'
import { columnType } from './column-types.ts'
import type { ResourceDefinition } from './resource.ts'
import { createIndex, storedColumns } from './table.ts'
import { type MissingIndex, storedIndexes } from './table-plan.ts'

export interface ExpectedTables {
  /** By `orders.amount`. */
  readonly columns: ReadonlyMap<string, FoundColumn>
  /** The statements that create indexes, by name. */
  readonly indexes: ReadonlyMap<string, string>
}

export const expectTables = (
  dialect: Dialect,
  resources: readonly ResourceDefinition[],
): ExpectedTables => ({
  columns: comparesColumns(dialect) ? expectColumns(dialect, resources) : new Map(),
  indexes: comparesIndexes(dialect) ? expectIndexes(dialect, resources) : new Map(),
})

const expectColumns = (dialect: Dialect, resources: readonly ResourceDefinition[]) =>
  new Map([
    ...engineTables.flatMap((table) =>
      Object.entries(table.columns).map(
        (column) =>
          [`${table.name}.${column[0]}`, columnOfCatalog(dialect, table, column)] as const,
      ),
    ),
    ...resources.flatMap((definition) => columnsOf(dialect, definition)),
  ])

const expectIndexes = (dialect: Dialect, resources: readonly ResourceDefinition[]) =>
  new Map([
    ...listEngineIndexes(dialect).map(
      ({ table, name, definition }) =>
        [name, createOn(dialect, table, `CREATE INDEX ${name} ${definition}`)] as const,
    ),
    ...resources.flatMap((definition) =>
      storedIndexes(definition, dialect)
        .filter(({ unique }) => !unique)
        .map(
          (index) =>
            [
              index.name,
              createOn(dialect, definition.name, createIndex(definition.name, index)),
            ] as const,
        ),
    ),
  ])

/** Defaults are compared with those of the start: a migration of the team can have none. */
function columnsOf(
  { types }: Dialect,
  { name, fields }: ResourceDefinition,
): (readonly [string, FoundColumn])[] {
  const rest = { fallback: null, isNumbered: false }
  const columns = storedColumns(fields).map(([column, spec]) => {
    const isNumbered = spec.kind === 'id' && spec.idPrefix === undefined
    const isNullable = spec.nullable && spec.kind !== 'id'
    const present = { ...rest, type: types[columnType(spec)], isNullable, isNumbered }
    return [`${name}.${column}`, present] as const
  })
  return [[`${name}.scope`, { ...rest, type: types.int, isNullable: false }], ...columns]
}

/** The kind of a column that no resource declares. */
const ENGINE_KIND = 'a column of the engine'

/** Returns what the columns of the engine and of resources are declared as, by `orders.amount`. */
export const listDeclaredKinds = (
  resources: readonly ResourceDefinition[],
): ReadonlyMap<string, string> =>
  new Map([
    ...engineTables.flatMap(({ name, columns }) =>
      Object.keys(columns).map((column) => [`${name}.${column}`, ENGINE_KIND] as const),
    ),
    ...resources.flatMap(({ name, fields }) => [
      [`${name}.scope`, ENGINE_KIND] as const,
      ...storedColumns(fields).map(
        ([column, { kind }]) => [`${name}.${column}`, `f.${kind}()`] as const,
      ),
    ]),
  ])

const divided = new Set(engineTables.filter(({ divided }) => divided).map(({ name }) => name))

/** Beside writes, except of all partitions. SQLite has no such words. */
const createOn = ({ indexing }: Dialect, table: string, text: string): string =>
  divided.has(table) ? text : text.replace('CREATE INDEX', `CREATE INDEX${indexing.keyword}`)

const CREATE_INDEX = 'CREATE INDEX '

/** Returns the indexes of the engine that are not unique; none where nodes do not compare them. */
export const listEngineIndexes = (dialect: Dialect): readonly MissingIndex[] =>
  (comparesIndexes(dialect) ? ownTables(dialect, engineTables) : []).flatMap((table) =>
    indexStatements(dialect, table).flatMap((text) => {
      if (!text.startsWith(CREATE_INDEX)) return []
      const end = text.indexOf(' ON ')
      const name = text.slice(CREATE_INDEX.length, end)
      // No list uses it: the name identifies it instead of columns.
      return [{ table: table.name, name, definition: text.slice(end + 1), columns: [name] }]
    }),
  )
