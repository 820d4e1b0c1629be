/**
 * From a definition to its SQL table: columns, indexes, and what a changed definition needs (§6.6). Pure; the
 * statements are run by `migrate.ts`.
 */
import type { Collection, ListColumn } from '../lists/collection.ts'
import type { Column, ColumnType, Dialect } from '../storage/database.ts'
import { DeclarationError, type FieldSpec } from './fields.ts'
import type { Definition } from './resource.ts'

const columnTypes: Readonly<Record<FieldSpec['kind'], ColumnType>> = {
  id: 'int',
  ref: 'int',
  int: 'int',
  bool: 'int',
  time: 'int',
  number: 'real',
  string: 'text',
  email: 'text',
  url: 'text',
  currency: 'text',
  oneOf: 'text',
}

/** Bytes a key of a PostgreSQL B-tree may have, less the other columns; characters take up to four. */
const INDEXED_TEXT_MAX = 600

export interface Index {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
}

export const indexName = (table: string, ...columns: readonly string[]): string =>
  `${table}_by_${columns.join('_')}`

export const uniqueName = (table: string, field: string): string => `${table}_unique_${field}`

/**
 * Every index begins with the scope. Each column that sorts or filters gets one that ends with the id, so that a
 * page is one seek (§7.9); where rows have an owner, each of these stands a second time with the owner behind
 * the scope, for persons.
 */
export function indexesOf(definition: Definition): Index[] {
  const { name: table, fields } = definition
  const owner = ownerOf(definition)
  const indexes: Index[] = [
    { name: indexName(table, 'id'), columns: ['scope', 'id'], unique: true },
  ]
  const add = (name: string, columns: string[]) => {
    if (!indexes.some((index) => index.name === name))
      indexes.push({ name, columns, unique: false })
  }
  const wanted = new Set([...definition.sort, ...definition.filter])
  for (const [name, spec] of Object.entries(fields)) {
    if (spec.kind === 'ref') wanted.add(name) // deleting the row it points to looks here
    if (spec.unique) {
      const column = spec.kind === 'email' ? `lower(${name})` : name
      indexes.push({ name: uniqueName(table, name), columns: ['scope', column], unique: true })
    }
  }
  wanted.delete('id')
  for (const name of wanted) {
    refuseUnindexable(definition, name)
    add(indexName(table, name), ['scope', name, 'id'])
  }
  if (owner) {
    for (const name of definition.sort) {
      if (name === 'id' || name === owner) continue
      add(indexName(table, owner, name), ['scope', owner, name, 'id'])
    }
  }
  return indexes
}

function refuseUnindexable(definition: Definition, name: string): void {
  const spec = definition.fields[name]!
  if (columnTypes[spec.kind] !== 'text' || spec.values) return
  if ((spec.max ?? 3) > INDEXED_TEXT_MAX) {
    throw new DeclarationError(
      `resource ${definition.name}: no index can serve ${name}, whose text may have ${spec.max} ` +
        `characters; lower .max() to ${INDEXED_TEXT_MAX} or take it out of list.sort and list.filter`,
    )
  }
}

/** The field that names the person a row belongs to, if one does. */
export const ownerOf = (definition: Definition): string | undefined =>
  Object.keys(definition.fields).find((name) => definition.fields[name]?.owner)

function columnSql(name: string, spec: FieldSpec, dialect: Dialect): string {
  if (spec.kind === 'id') return `${name} ${dialect.serial}`
  const nullable = spec.nullable ? '' : ' NOT NULL'
  const fallback = spec.default === undefined ? '' : ` DEFAULT ${literal(spec.default)}`
  return `${name} ${dialect.types[columnTypes[spec.kind]]}${nullable}${fallback}`
}

/** Defaults come from the declaration, never from a request. */
function literal(value: string | number | boolean | null): string {
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return value ? '1' : '0'
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`
}

function createTable(definition: Definition, dialect: Dialect): string {
  const { name, fields } = definition
  const columns = Object.entries(fields).map(([field, spec]) => columnSql(field, spec, dialect))
  const scope = `scope ${dialect.types.int} NOT NULL`
  const references = Object.entries(fields)
    .filter(([, spec]) => spec.kind === 'ref')
    .map(([field, spec]) => `FOREIGN KEY (scope, ${field}) REFERENCES ${spec.target} (scope, id)`)
  return `CREATE TABLE ${name} (${[scope, ...columns, ...references].join(', ')})`
}

const createIndex = (table: string, index: Index): string =>
  `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${index.name} ON ${table} (${index.columns.join(', ')})`

/** What stands in the database for one resource. */
export interface Existing {
  readonly columns: readonly Column[]
  readonly indexes: readonly string[]
}

export interface TablePlan {
  readonly ddl: readonly string[]
  /** Sentences about what cannot be done without a reviewed migration. */
  readonly refused: readonly string[]
}

/** Only additions are planned; everything else is named (§6.6). */
export function planTable(definition: Definition, existing: Existing, dialect: Dialect): TablePlan {
  const indexes = indexesOf(definition)
  const { name: table, fields } = definition
  if (existing.columns.length === 0) {
    const all = indexes.map((index) => createIndex(table, index))
    return { ddl: [createTable(definition, dialect), ...all], refused: [] }
  }
  const ddl: string[] = []
  const refused: string[] = []
  const stored = new Map(existing.columns.map((column) => [column.name, column]))
  for (const [name, spec] of Object.entries(fields)) {
    const column = stored.get(name)
    if (!column && spec.default === undefined) {
      refused.push(`${table}.${name} is new and has no default for the rows that exist`)
    } else if (!column) {
      ddl.push(`ALTER TABLE ${table} ADD COLUMN ${columnSql(name, spec, dialect)}`)
    } else if (column.type !== columnTypes[spec.kind]) {
      refused.push(`${table}.${name} is stored as ${column.type}, declared as ${spec.kind}`)
    } else if (column.nullable !== spec.nullable && spec.kind !== 'id') {
      const now = column.nullable ? 'nullable' : 'never null'
      refused.push(`${table}.${name} is stored as ${now}, declared otherwise`)
    }
  }
  for (const name of stored.keys()) {
    if (name !== 'scope' && !Object.hasOwn(fields, name)) {
      refused.push(`${table}.${name} holds data and is declared no more`)
    }
  }
  for (const index of indexes) {
    if (existing.indexes.includes(index.name)) continue
    if (index.unique) refused.push(`${table}: ${index.name} is new; rows that exist may break it`)
    else ddl.push(createIndex(table, index))
  }
  return { ddl, refused }
}

const cellTypes: Readonly<Partial<Record<FieldSpec['kind'], ListColumn['type']>>> = {
  number: 'real',
  bool: 'bool',
  time: 'time',
  email: 'email',
}

export const listColumn = (name: string, spec: FieldSpec): ListColumn => ({
  name,
  type: cellTypes[spec.kind] ?? (columnTypes[spec.kind] === 'text' ? 'text' : 'int'),
  nullable: spec.nullable,
  ...(spec.values ? { oneOf: spec.values } : {}),
})

/** How the list engine sees the resource. */
export function collectionOf(definition: Definition): Collection {
  const owner = ownerOf(definition)
  return {
    name: definition.name,
    table: definition.name,
    columns: Object.entries(definition.fields).map(([name, spec]) => listColumn(name, spec)),
    integerId: true,
    scoped: true,
    counted: true,
    filter: definition.filter,
    sort: definition.sort,
    ...(owner ? { owner } : {}),
  }
}
