/**
 * The SQL table of a resource: columns and indexes, and its description for lists. Pure;
 * `table-plan.ts` plans the statements that a changed definition needs.
 */
import { hash } from 'node:crypto'
import type { Dialect, Value } from '../../platform/storage/database.ts'
import type { DatabaseName } from '../../platform/storage/expressions.ts'
import { columnsOfIndex, createScopedTable } from '../../platform/storage/scoped-table.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { foldedColumn, unfoldedColumn } from '../../protocol/fields/folding.ts'
import { formOf } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { MemberSpec, MemberSpecs } from '../../protocol/fields/spec.ts'
import type { Collection, ListColumn } from '../../protocol/lists/collection.ts'
import { EXPAND } from '../../protocol/lists/expanded-page.ts'
import { columnType } from './column-types.ts'
import { columnFields, tableFields } from './computed.ts'
import { rowSource } from './derived.ts'
import { comparedName, foldedColumns } from './folded-columns.ts'
import { ownerField, ownerPathOf } from './ownership.ts'
import { relatedColumns } from './related-fields.ts'
import { hasRelations } from './relations.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_FIELD, DELETED_PARAMETER, DELETED_WORD, LIVE_ROWS } from './soft-deletion.ts'
import { ownKeys } from './tables.ts'

export interface TableIndex {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
  /** See `indexOfExpressions`. */
  readonly stem?: string
  /** The rows that the index has; default: all. */
  readonly where?: string
}

/** PostgreSQL truncates longer names without an error, so two names could collide. */
const NAME_MAX = 63
const shortName = (name: string): string =>
  name.length <= NAME_MAX ? name : `${name.slice(0, 52)}_${hash('sha1', name).slice(0, 10)}`

export const indexName = (table: string, ...columns: readonly string[]): string =>
  shortName(`${table}_by_${columns.join('_')}`)

/** Returns the name of an index of the rows that are not marked as deleted. */
const liveIndexName = (table: string, ...columns: readonly string[]): string =>
  shortName(`${table}_live_by_${columns.join('_')}`)

export const uniqueName = (table: string, ...fields: readonly string[]): string =>
  shortName(`${table}_unique_${fields.join('_and_')}`)

/** Returns the name of the table with the words of the rows (`search-index.ts`). */
export const wordTable = ({ name }: Pick<ResourceDefinition, 'name'>): string =>
  `${WORD_TABLES}${name}`

const WORD_TABLES = 'gh_words_'

/** Returns whether the rows of a table follow from those of another one. */
export const isWordTable = (table: string): boolean => table.startsWith(WORD_TABLES)

/** Returns the name that an index has if its columns have the names of `nameOf`. */
export function nameOfIndex(
  table: string,
  { name: current, columns, unique, where }: TableIndex,
  nameOf: (column: string) => string,
): string {
  const names = columns.filter((name) => name !== 'scope' && name !== 'id')
  const all = names.flatMap((name) => [name, unfoldedColumn(name)])
  if (all.every((name) => nameOf(name) === name)) return current
  if (where !== undefined) {
    return where === LIVE_ROWS ? liveIndexName(table, ...names.map(nameOf)) : current
  }
  return unique
    ? uniqueName(table, ...names.map((name) => nameOf(unfoldedColumn(name))))
    : indexName(table, ...names.map(nameOf))
}

/** Returns the fields whose values together occur once in a customer and mode. */
export const uniqueTuples = ({ fields, unique }: ResourceDefinition): (readonly string[])[] => [
  ...Object.keys(fields)
    .filter((name) => fields[name]!.unique)
    .map((name) => [name]),
  ...unique,
]

/**
 * Returns the indexes of a table. Every index begins with the scope. Each column and tuple that
 * sorts or filters has an index that ends with the id, unless it is listed with `index: false`. So
 * a page is one seek (§7.9). A person's lists use the index of the owner, and sort that person's
 * rows in memory. With soft deletion these indexes lack the deleted rows, which no page passes.
 */
export function indexesOf(definition: ResourceDefinition): TableIndex[] {
  const { name: table, fields, softDeletion } = definition
  const indexes: TableIndex[] = []
  const add = (index: Omit<TableIndex, 'unique'>) => {
    if (!indexes.some(({ name }) => name === index.name)) indexes.push({ ...index, unique: false })
  }
  const addWhole = (...names: readonly string[]) =>
    add({ name: indexName(table, ...names), columns: ['scope', ...names, 'id'] })
  const addListed = (...names: readonly string[]) => {
    if (!softDeletion) return addWhole(...names)
    const columns = ['scope', ...names.filter((name) => name !== 'id'), 'id']
    add({ name: liveIndexName(table, ...names), columns, where: LIVE_ROWS })
  }
  /** For lists too, and for the rows that refer to a row, whether they are marked as deleted. */
  const addReferring = (name: string) => {
    addListed(name)
    // It has another order than lists, which SQLite would read along it.
    if (softDeletion) addWhole(name, DELETED_FIELD)
  }
  if (softDeletion) {
    addWhole(DELETED_FIELD)
    addListed('id')
    // A purge reads the rows of all scopes.
    const where = `${DELETED_FIELD} IS NOT NULL`
    add({ name: `${table}_deleted`, columns: [DELETED_FIELD], where })
  }
  const tuples = definition.sortIndexes.filter((columns) => columns.length > 1)
  const single = new Set(definition.sortIndexes.filter((columns) => columns.length === 1).flat())
  for (const name of [...definition.filterIndexes, ...definition.prefix]) {
    if (fieldKindOf(fields[name]!).isMap) continue // reads rows within the bounds of §7.10
    const compared = comparedName(fields, name)
    if (compared === name) single.add(name)
    else if (!fields[name]!.unique || softDeletion) addListed(compared)
  }
  for (const tuple of uniqueTuples(definition)) {
    const columns = tuple.map((name) => comparedName(fields, name))
    indexes.push({
      name: uniqueName(table, ...tuple),
      columns: ['scope', ...columns],
      unique: true,
    })
  }
  single.delete('id')
  for (const name of single) addListed(name)
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.kind === 'ref') addReferring(name) // the deletion of the referenced row queries it
  }
  const owner = ownerField(definition)
  if (owner !== undefined && owner !== 'id') addReferring(owner)
  for (const tuple of tuples) addListed(...tuple)
  return indexes
}

/** Returns unused indexes: of fields that have `index: false`, and of another soft deletion. */
export function outdatedIndexes(
  definition: ResourceDefinition,
  indexes: readonly TableIndex[],
): string[] {
  const { name: table, filter, sort, sortIndexes } = definition
  const tuples = [
    ['id'],
    ...[...filter, ...sort].flatMap((name) => [[name], [comparedName(definition.fields, name)]]),
    ...sortIndexes,
  ]
  const names = tuples.flatMap((tuple) => [
    indexName(table, ...tuple),
    liveIndexName(table, ...tuple),
  ])
  return names.filter((name) => !indexes.some((index) => index.name === name))
}

/** Returns the columns of the table, except the scope. */
export const storedColumns = (
  fields: ResourceDefinition['fields'],
): (readonly [name: string, spec: FieldSpec])[] => [
  ...tableFields(fields),
  ...foldedColumns(fields).map(({ column, spec }) => [column, spec] as const),
]

export function columnSql(name: string, spec: FieldSpec, dialect: Dialect): string {
  if (spec.kind === 'id' && !spec.idPrefix) return `${name} ${dialect.scoped.id}`
  const nullable = spec.nullable ? '' : ' NOT NULL'
  const fallback =
    spec.default === undefined ? '' : ` DEFAULT ${literal(cellWriter(spec)(spec.default))}`
  return `${name} ${dialect.types[columnType(spec)]}${nullable}${fallback}`
}

/** Returns the SQL literal of a declared default, which is never request data. */
function literal(value: Value): string {
  if (value === null) return 'NULL'
  return typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`
}

/** Returns a function that returns the stored form of a value. */
export function cellWriter(spec: FieldSpec): (value: unknown) => Value {
  const { cell } = formOf(spec)
  if (cell) return (value) => (value === null || value === undefined ? null : cell.to(value))
  return (value) => (typeof value === 'boolean' ? Number(value) : ((value ?? null) as Value))
}

const referencesOf = (fields: ResourceDefinition['fields']): string[] =>
  Object.entries(fields)
    .filter(([, spec]) => spec.kind === 'ref')
    .map(([field, spec]) => `FOREIGN KEY (scope, ${field}) REFERENCES ${spec.target} (scope, id)`)

/** Returns the statements that create the table with these indexes. */
export function createTable(
  { name, fields }: ResourceDefinition,
  indexes: readonly TableIndex[],
  dialect: Dialect,
): string[] {
  const columns = storedColumns(fields).map(([column, spec]) => columnSql(column, spec, dialect))
  // A constraint of the table, not a later index: a resource can refer to itself.
  const key = fields.id!.idPrefix === undefined ? dialect.scoped.key : 'PRIMARY KEY (scope, id)'
  return createScopedTable(dialect, {
    name,
    parts: [...columns, key],
    references: referencesOf(fields),
    indexes: indexes.map((index) => createIndex(name, index)),
    beside: ownKeys.name,
  })
}

/** Returns the index with the columns that the database stores. */
export const storedIndex = (
  index: TableIndex,
  { fields, softDeletion }: ResourceDefinition,
  database: DatabaseName,
): TableIndex => ({
  ...index,
  columns: columnsOfIndex(database, index.columns, {
    hasIntegerIds: fields.id!.idPrefix === undefined,
    isUnordered: index.unique && softDeletion !== undefined,
  }),
})

export const definitionOf = (table: string, { columns, where }: TableIndex): string =>
  `ON ${table} (${columns.join(', ')})${where === undefined ? '' : ` WHERE ${where}`}`

export const createIndex = (table: string, index: TableIndex): string =>
  `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${index.name} ${definitionOf(table, index)}`

export function listColumn(name: string, spec: FieldSpec): ListColumn {
  const kind = fieldKindOf(spec)
  return {
    name,
    type: kind.cell(spec),
    ...(spec.idPrefix !== undefined && { idPrefix: spec.idPrefix }),
    ...(kind.isFolded && { folded: foldedColumn(name) }),
    // The database can derive NULL for a row, whatever is declared.
    nullable: spec.nullable || spec.computed === 'derived',
    ...(spec.computed === 'derived' && { isExpression: true }),
    ...(spec.values ? { oneOf: spec.values } : {}),
    ...(kind.isMap && { isMap: true }),
  }
}

/** Maximum bytes of a character in JSON: an escaped control character. */
const CHARACTER_BYTES_MAX = 6
/** Bytes of a field's name, number and punctuation. */
const FIELD_BYTES = 128

/** Returns the bytes of the largest possible object as JSON. */
const maxBytesOf = (members: MemberSpecs): number =>
  Object.values(members).reduce((sum, spec) => sum + FIELD_BYTES + maxValueBytes(spec), 0)

function maxValueBytes(spec: MemberSpec): number {
  const { max = FIELD_BYTES, members, items } = spec
  if (members) return maxBytesOf(members)
  if (items) return max * (FIELD_BYTES + maxValueBytes(items))
  return fieldKindOf(spec).column === 'text' ? CHARACTER_BYTES_MAX * max : 0
}

/**
 * Returns the columns of the indexes of these rows. A unique index of several columns does not
 * order the rows with `null`.
 */
const listIndexesOf = (definition: ResourceDefinition, rows?: string): (readonly string[])[] =>
  indexesOf(definition)
    .filter(({ where }) => where === rows)
    .filter(({ unique, columns }) => !unique || columns.length === 2)
    .map(({ columns }) => columns.slice(1))

/**
 * Describes the resource to the list engine.
 *
 * @param resources the resources through which rows have their owner
 * @param options.missing the indexes of each resource that are not created yet; changes later
 * @param options.database the database whose SQL derives fields
 */
export function resourceCollection(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[] = [definition],
  {
    missing,
    database = 'sqlite',
  }: {
    missing?: ReadonlyMap<string, ReadonlySet<string>> | undefined
    database?: DatabaseName | undefined
  } = {},
): Collection {
  const owner = ownerPathOf(definition, resources)
  const missingIndexes = missing?.get(definition.name)
  const related = relatedColumns(definition, resources, { database, listColumn, missing })
  const rows = definition.softDeletion && LIVE_ROWS
  return {
    name: definition.name,
    table: rowSource(definition, database),
    columns: [
      ...columnFields(definition.fields).map(([name, spec]) => listColumn(name, spec)),
      ...related.columns,
    ],
    integerId: definition.fields.id!.idPrefix === undefined,
    scoped: true,
    hasStoredTotal: true,
    filter: [...definition.filter, ...related.filter],
    prefix: definition.prefix,
    contains: definition.contains,
    sort: [...definition.sort, ...related.sort],
    ...(definition.search.length > 0 && { wordTable: wordTable(definition) }),
    parameters: [
      ...(hasRelations(definition) ? [EXPAND] : []),
      ...(definition.softDeletion ? [DELETED_PARAMETER] : []),
    ],
    ...(rows && { where: rows }),
    indexes: [['id'], ...listIndexesOf(definition, rows)],
    ...(missingIndexes && { missingIndexes }),
    maxRowBytes: maxBytesOf(definition.fields),
    ...(owner && { owner: owner.column, ownerThrough: owner.through }),
  }
}

/** Describes the rows that are marked as deleted, which the index of their instant selects. */
export function deletedCollection(
  definition: ResourceDefinition,
  collection: Collection,
): Collection {
  const { where: _where, ...all } = collection
  // Deleted rows can refer to deleted rows, which an index of the others lacks.
  const columns = all.columns.map((column) => {
    const { related } = column
    return related ? { ...column, related: { ...related, isSorted: false } } : column
  })
  const hasRelated = columns.some(({ related }) => related)
  return {
    ...all,
    ...(hasRelated && { columns }),
    name: `${collection.name} deleted`,
    ...(all.wordTable && { wordPrefix: DELETED_WORD }),
    hasStoredTotal: false,
    indexes: [['id'], ...listIndexesOf(definition)],
  }
}
