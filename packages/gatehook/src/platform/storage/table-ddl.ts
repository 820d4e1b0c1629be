/** Derives the statements that create a table from its declaration. Pure. */
import type { Dialect } from './database.ts'
import type { DeclaredColumn, DeclaredIndex, Table } from './table.ts'

/** Returns the statements that create a table with its indexes, in their order. */
export const createTable = (dialect: Dialect, table: Table): string[] => [
  tableStatement(dialect, table),
  ...indexStatements(dialect, table),
]

/** Returns `CREATE TABLE …` alone. */
function tableStatement(dialect: Dialect, table: Table): string {
  const { name, divided } = table
  const columns = Object.entries(table.columns).map(([column, spec]) =>
    columnSql(dialect, column, spec, table.distribution?.defaults?.[column]),
  )
  // SQLite generates numbers in the primary key only; see `indexStatements`.
  const isNumbered = dialect.name === 'sqlite' && serialOf(table) !== undefined
  const key = isNumbered ? [] : [`PRIMARY KEY (${keyOf(dialect, table).join(', ')})`]
  const isDivided = dialect.name === 'postgres' && divided
  const suffix = isDivided ? ` PARTITION BY RANGE (${divided.column})` : ''
  return `CREATE TABLE ${name} (\n  ${[...columns, ...key].join(',\n  ')}\n)${suffix}`
}

/** Whether nodes compare indexes with the declaration: those of distributed tables differ. */
export const comparesIndexes = ({ distributed }: Dialect): boolean => !distributed

/** Whether nodes compare columns, too: SQLite changes none. */
export const comparesColumns = ({ name, distributed }: Dialect): boolean =>
  name === 'postgres' && !distributed

/** Returns the column as the catalog of the database has it; see `columnSql`. */
export function columnOfCatalog(
  { types, txid }: Dialect,
  { key }: Pick<Table, 'key'>,
  [name, { kind, nullable, fallback }]: readonly [string, DeclaredColumn],
) {
  const numbered = kind === 'serial' || kind === 'txid'
  return {
    type: types[numbered ? 'int' : kind],
    isNullable: nullable === true && !key.includes(name),
    isNumbered: kind === 'serial',
    fallback: kind === 'txid' ? DEFAULT.exec(txid)![1]! : (defaultOf(fallback) ?? null),
  }
}

const DEFAULT = /DEFAULT (.*)$/

const defaultOf = (value: DeclaredColumn['fallback']): string | undefined =>
  value === undefined ? undefined : typeof value === 'string' ? `'${value}'` : String(value)

/** Citus: each server verifies the keys of its own rows, so a key contains the scope. */
function keyOf({ distributed }: Dialect, { key, place }: Table): readonly string[] {
  return distributed && place === 'scope' && !key.includes('scope') ? ['scope', ...key] : key
}

/** Returns the column whose numbers the database generates. */
const serialOf = ({ columns }: Table): string | undefined =>
  Object.keys(columns).find((name) => columns[name]!.kind === 'serial')

function columnSql(
  { distributed, types, scoped, txid }: Dialect,
  name: string,
  { kind, nullable, fallback }: DeclaredColumn,
  distributedDefault: string | undefined,
): string {
  if (distributed && distributedDefault !== undefined) {
    return `${name} ${types.int} NOT NULL DEFAULT ${distributedDefault}`
  }
  if (kind === 'serial') return `${name} ${scoped.id}`
  if (kind === 'txid') return `${name} ${txid}`
  const value = defaultOf(fallback)
  const rest = value === undefined ? '' : ` DEFAULT ${value}`
  return `${name} ${types[kind]}${nullable ? '' : ' NOT NULL'}${rest}`
}

/** Returns the statements that create the indexes of a table that its key does not have. */
export function indexStatements(dialect: Dialect, table: Table): string[] {
  const { name, key, place, divided, distribution } = table
  const byScope = dialect.distributed && place === 'scope'
  const listed = Object.entries({
    ...table.indexes,
    ...(dialect.distributed && distribution?.indexes),
  }).filter(
    ([, { only, purges }]) =>
      (only ?? dialect.name) === dialect.name &&
      // Partitions have an index of their own; see `partitions/upkeep.ts`.
      !(purges && divided && dialect.name === 'postgres'),
  )
  const statements: string[] = []
  for (const [part, index] of listed) {
    const lacksScope = byScope && index.unique && !/\bscope\b/.test(index.on)
    statements.push(
      indexSql(table, part, lacksScope ? { ...index, on: `scope, ${index.on}` } : index),
    )
    // Statements that do not name the scope use an index of the former columns.
    if (lacksScope) statements.push(`CREATE INDEX ${name}_${part}_alone ON ${name} (${index.on})`)
  }
  if (byScope && !key.includes('scope')) {
    statements.push(`CREATE INDEX ${name}_key_alone ON ${name} (${key.join(', ')})`)
  }
  const serial = serialOf(table)
  if (dialect.name === 'sqlite' && serial !== undefined && !key.includes(serial)) {
    statements.push(`CREATE UNIQUE INDEX ${name}_key ON ${name} (${key.join(', ')})`)
  }
  return statements
}

const indexSql = ({ name }: Table, part: string, { on, unique, where }: DeclaredIndex): string =>
  `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${name}_${part} ON ${name} (${on})` +
  (where === undefined ? '' : ` WHERE ${where}`)
