/**
 * What PostgreSQL has of the tables of the engine and of resources, unless another program has
 * changed it: the definitions of columns, and indexes that are not unique. Pure.
 */
import { engineTables } from '../../engine-tables.ts'
import type { Dialect } from '../../platform/storage/database.ts'
import {
  columnOfCatalog,
  comparesTables,
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

export function expectTables(
  dialect: Dialect,
  resources: readonly ResourceDefinition[],
): ExpectedTables {
  if (!comparesTables(dialect)) return { columns: new Map(), indexes: new Map() }
  const ofEngine = listEngineIndexes(dialect).map(
    ({ table, name, definition }) => [name, createOn(table, name, definition)] as const,
  )
  const ofResources = resources.flatMap((definition) =>
    storedIndexes(definition, dialect)
      .filter(({ unique }) => !unique)
      .map((index) => [index.name, beside(createIndex(definition.name, index))] as const),
  )
  return {
    columns: new Map([
      ...engineTables.flatMap((table) =>
        Object.entries(table.columns).map(
          (column) =>
            [`${table.name}.${column[0]}`, columnOfCatalog(dialect, table, column)] as const,
        ),
      ),
      ...resources.flatMap((definition) => columnsOf(dialect, definition)),
    ]),
    indexes: new Map([...ofEngine, ...ofResources]),
  }
}

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

const divided = new Set(engineTables.filter(({ divided }) => divided).map(({ name }) => name))

/** PostgreSQL creates no index of all partitions beside writes. */
const createOn = (table: string, name: string, definition: string): string => {
  const text = `CREATE INDEX ${name} ${definition}`
  return divided.has(table) ? text : beside(text)
}

const beside = (text: string): string => text.replace('CREATE INDEX', 'CREATE INDEX CONCURRENTLY')

const CREATE_INDEX = 'CREATE INDEX '

/** Returns the indexes of the engine that are not unique; none where nodes do not compare them. */
export const listEngineIndexes = (dialect: Dialect): readonly MissingIndex[] =>
  (comparesTables(dialect) ? engineTables : []).flatMap((table) =>
    indexStatements(dialect, table).flatMap((text) => {
      if (!text.startsWith(CREATE_INDEX)) return []
      const end = text.indexOf(' ON ')
      const name = text.slice(CREATE_INDEX.length, end)
      // No list uses it: the name identifies it instead of columns.
      return [{ table: table.name, name, definition: text.slice(end + 1), columns: [name] }]
    }),
  )
