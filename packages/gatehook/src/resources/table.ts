/**
 * From a definition to its SQL table: columns, indexes, and what a changed definition needs
 * (§6.6). Pure; the statements are run by `migrate.ts`.
 */
import { hash } from 'node:crypto'
import { PAGE_BYTES_MAX } from '../lists/bounds.ts'
import type { Collection, ListColumn } from '../lists/collection.ts'
import { MAX_LIMIT } from '../lists/grammar.ts'
import type { Column, ColumnType, Dialect } from '../storage/database.ts'
import { DeclarationError, type FieldSpec } from './fields.ts'
import { ownerField, ownerPathOf } from './ownership.ts'
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

/**
 * Bytes a key of a PostgreSQL B-tree may have, less the other columns; characters take up to
 * four.
 */
const INDEXED_TEXT_MAX = 600

export interface Index {
  readonly name: string
  readonly columns: readonly string[]
  readonly unique: boolean
}

/** PostgreSQL cuts longer names without a word, and two of them may become one. */
const NAME_MAX = 63
const short = (name: string): string =>
  name.length <= NAME_MAX ? name : `${name.slice(0, 52)}_${hash('sha1', name).slice(0, 10)}`

export const indexName = (table: string, ...columns: readonly string[]): string =>
  short(`${table}_by_${columns.join('_')}`)

export const uniqueName = (table: string, field: string): string =>
  short(`${table}_unique_${field}`)

/**
 * Every index begins with the scope. Each column that sorts or filters, and each tuple that sorts,
 * gets one that ends with the id, so that a page is one seek (§7.9). A person's lists use the index
 * of the owner and sort that person's rows in memory.
 */
function indexesOf(definition: Definition): Index[] {
  const { name: table, fields } = definition
  const indexes: Index[] = []
  const add = (name: string, columns: string[]) => {
    if (!indexes.some((index) => index.name === name))
      indexes.push({ name, columns, unique: false })
  }
  const tuples = definition.sortIndexes.filter((one) => one.length > 1)
  const wanted = new Set(definition.sortIndexes.flatMap((one) => (one.length > 1 ? [] : one)))
  for (const name of definition.filter) {
    // Filters compare e-mails without case; an index on the column itself cannot serve them.
    if (fields[name]!.kind !== 'email') wanted.add(name)
    else if (!fields[name]!.unique)
      add(indexName(table, 'lower', name), ['scope', `lower(${name})`, 'id'])
  }
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
  const owner = ownerField(definition)
  if (owner !== undefined && owner !== 'id') add(indexName(table, owner), ['scope', owner, 'id'])
  for (const tuple of tuples) {
    for (const name of tuple) refuseUnindexable(definition, name, INDEXED_TEXT_MAX / tuple.length)
    add(indexName(table, ...tuple), ['scope', ...tuple, 'id'])
  }
  return indexes
}

/** Indexes that earlier versions created for a person's lists, and no list uses (§7.9). */
function outdatedIndexes(definition: Definition, indexes: readonly Index[]): string[] {
  const owner = ownerField(definition)
  if (owner === undefined) return []
  const names = definition.sort.map((name) => indexName(definition.name, owner, name))
  return names.filter((name) => !indexes.some((index) => index.name === name))
}

function refuseUnindexable(
  definition: Definition,
  name: string,
  most: number = INDEXED_TEXT_MAX,
): void {
  const spec = definition.fields[name]!
  if (columnTypes[spec.kind] !== 'text' || spec.values) return
  if ((spec.max ?? 3) > most) {
    throw new DeclarationError(
      `resource ${definition.name}: no index can serve ${name}, whose text may have ${spec.max} ` +
        `characters; lower .max() to ${Math.floor(most)}, or take it out of list.sort and .filter`,
    )
  }
}

function columnSql(name: string, spec: FieldSpec, dialect: Dialect): string {
  if (spec.kind === 'id') return `${name} ${dialect.scoped.id}`
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
  // A constraint, not an index made afterwards: a resource may point to itself.
  const parts = [scope, ...columns, dialect.scoped.key, ...references]
  return `CREATE TABLE ${name} (${parts.join(', ')})`
}

const createIndex = (table: string, { name, columns, unique }: Index): string =>
  `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${name} ON ${table} (${columns.join(', ')})`

/** What stands in the database for one resource. */
export interface Existing {
  readonly columns: readonly Column[]
  readonly indexes: readonly string[]
  /** Columns that a start has added: the previous declaration, which lacks them, may run. */
  readonly additions?: readonly string[]
}

export interface TablePlan {
  readonly ddl: readonly string[]
  /** Sentences about what cannot be done without a reviewed migration. */
  readonly refused: readonly string[]
}

/** Only additions are planned, and indexes that no list uses go; all else is named (§6.6). */
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
    const sql = columnSql(name, spec, dialect)
    if (column) refused.push(...columnMistakes(table, name, spec, column, sql))
    else if (spec.default !== undefined || spec.nullable)
      ddl.push(`ALTER TABLE ${table} ADD COLUMN ${sql}`)
    else refused.push(newColumn(table, name, sql))
  }
  for (const name of stored.keys()) {
    const isExpected = name === 'scope' || Object.hasOwn(fields, name)
    if (isExpected || existing.additions?.includes(name)) continue
    refused.push(goneColumn(table, name))
  }
  for (const index of indexes) {
    if (existing.indexes.includes(index.name)) continue
    if (index.unique) refused.push(newUnique(table, index))
    else ddl.push(createIndex(table, index))
  }
  for (const name of outdatedIndexes(definition, indexes)) {
    if (existing.indexes.includes(name)) ddl.push(`DROP INDEX ${name}`)
  }
  return { ddl, refused }
}

// What is refused: what changed, and the SQL of the migration that would do it.

const newColumn = (table: string, name: string, sql: string): string =>
  `${table}.${name} is new and has no default for the rows that exist. ` +
  `Write: ALTER TABLE ${table} ADD COLUMN ${sql} DEFAULT <their value>`

const goneColumn = (table: string, name: string): string =>
  `${table}.${name} holds data and is declared no more. ` +
  `Write: ALTER TABLE ${table} DROP COLUMN ${name}, its indexes first (DROP INDEX), ` +
  `or, for another name: ALTER TABLE ${table} RENAME COLUMN ${name} TO <name>`

const newUnique = (table: string, index: Index): string =>
  `${table}: ${index.name} is new and rows that exist may break it. ` +
  `Write: ${createIndex(table, index)}, after what makes them differ`

function columnMistakes(
  table: string,
  name: string,
  spec: FieldSpec,
  column: Column,
  sql: string,
): string[] {
  const now = column.nullable ? 'nullable' : 'never null'
  const differs =
    column.type !== columnTypes[spec.kind]
      ? `is stored as ${column.type}, declared as ${spec.kind}`
      : column.nullable !== spec.nullable && spec.kind !== 'id'
        ? `is stored as ${now}, declared otherwise`
        : undefined
  if (!differs) return []
  const filled = spec.nullable || spec.default !== undefined
  return [
    `${table}.${name} ${differs}. ` +
      `Write: ALTER TABLE ${table} RENAME COLUMN ${name} TO ${name}_old; ` +
      `ALTER TABLE ${table} ADD COLUMN ${sql}${filled ? '' : ' DEFAULT <any value>'}; ` +
      `UPDATE ${table} SET ${name} = <from ${name}_old>; ` +
      `ALTER TABLE ${table} DROP COLUMN ${name}_old, its indexes first (DROP INDEX)`,
  ]
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

/** Bytes that JSON may take for a character: an escape of a control character. */
const CHARACTER_BYTES_MAX = 6
/** Names, numbers and punctuation of a field. */
const FIELD_BYTES = 128

/** Bytes of the largest row as JSON, by what the declaration allows. */
const widestRow = ({ fields }: Definition): number =>
  Object.values(fields).reduce(
    (sum, spec) => sum + FIELD_BYTES + CHARACTER_BYTES_MAX * textMax(spec),
    0,
  )

const textMax = ({ kind, max }: FieldSpec): number =>
  columnTypes[kind] === 'text' ? (max ?? FIELD_BYTES) : 0

/** How the list engine sees the resource. `resources`: those its rows may be owned through. */
export function collectionOf(
  definition: Definition,
  resources: readonly Definition[] = [definition],
): Collection {
  const owner = ownerPathOf(definition, resources)
  return {
    name: definition.name,
    table: definition.name,
    columns: Object.entries(definition.fields).map(([name, spec]) => listColumn(name, spec)),
    integerId: true,
    scoped: true,
    counted: true,
    filter: definition.filter,
    sort: definition.sort,
    indexes: [['id'], ...indexesOf(definition).map(({ columns }) => columns.slice(1))],
    wide: widestRow(definition) * (MAX_LIMIT + 1) > PAGE_BYTES_MAX,
    ...(owner && { owner: owner.column, ownerThrough: owner.through }),
  }
}
