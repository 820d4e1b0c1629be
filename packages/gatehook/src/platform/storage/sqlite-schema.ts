/** Reads the columns and indexes of a SQLite file in the terms of `Database`. */
import type { Column, ColumnType, Dialect, TableSize } from './database.ts'
import type { Connection } from './sqlite-connection.ts'
import type { UniqueIndex } from './sqlite-errors.ts'

export const dialect: Dialect = {
  name: 'sqlite',
  types: { int: 'INTEGER', real: 'REAL', text: 'TEXT', bytes: 'BLOB' },
  serial: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  scoped: { id: 'INTEGER PRIMARY KEY AUTOINCREMENT', key: 'UNIQUE (scope, id)' },
  txid: 'INTEGER NOT NULL DEFAULT 0',
  distributed: false,
  horizon: '1',
  ownHorizon: '1',
  // Transactions run one at a time, and ids of events never decrease.
  commitOrder: undefined,
  shared: false,
  splitWork: (work) => ({ atStart: work, later: [] }),
  indexing: { keyword: '', runs: 'at start' },
}

const query = (connection: Connection, sql: string, name: string) =>
  connection.all({ sql, text: '', values: [name] })

export function columnsOf(connection: Connection, table: string): Column[] {
  const types = Object.entries(dialect.types) as [ColumnType, string][]
  const sql = 'SELECT name, type, "notnull" AS required, pk FROM pragma_table_info(?)'
  return query(connection, sql, table).map((row) => ({
    name: row.name,
    type: types.find(([, declared]) => declared === row.type)?.[0] ?? 'text',
    declaredType: String(row.type),
    nullable: row.required === 0 && row.pk === 0,
  }))
}

/** Returns the names of created indexes, without the indexes of keys and constraints. */
export const indexesOf = (connection: Connection, table: string): string[] =>
  query(connection, "SELECT name FROM pragma_index_list(?) WHERE origin = 'c'", table)
    .map((row) => String(row.name))
    .sort()

/** Returns the highest id: to count the rows would read all of them. */
export function sizeOf(connection: Connection, table: string): TableSize {
  const isKnown = columnsOf(connection, table).some(({ name }) => name === 'id')
  if (!isKnown) return { rows: 0, bytes: undefined }
  const sql = `SELECT max(rowid) AS rows FROM ${table}`
  const [row] = connection.all({ sql, text: '', values: [] })
  return { rows: Number(row!.rows ?? 0), bytes: undefined }
}

/** Returns the unique indexes of a table; unnamed ones have the name PostgreSQL would generate. */
export function uniqueIndexes(connection: Connection, table: string): UniqueIndex[] {
  const sql = 'SELECT name, origin FROM pragma_index_list(?) WHERE "unique" = 1'
  const indexes = query(connection, sql, table).map(({ name, origin }) => {
    const info = query(connection, 'SELECT name FROM pragma_index_info(?)', name)
    const columns = info.map((row) => String(row.name))
    if (origin === 'pk') return { name: `${table}_pkey`, columns }
    if (origin === 'u') return { name: `${table}_${columns.join('_')}_key`, columns }
    return { name: String(name), columns }
  })
  // An integer primary key has no separate index.
  const key = query(connection, 'SELECT name FROM pragma_table_info(?) WHERE pk > 0', table)
  if (key.length === 1) indexes.push({ name: `${table}_pkey`, columns: [String(key[0]!.name)] })
  return indexes
}
