/** The tables that a move copies, as both databases describe them, and reads of their rows. */
import { hash } from 'node:crypto'
import {
  type Column,
  type Database,
  type Reader,
  type Statement,
  StorageError,
  type Value,
} from '../database.ts'
import { createBytePages, type ReadBytePage } from '../key-pages.ts'
import { bytesOf } from '../page-bytes.ts'
import { prepareStatement } from '../sql.ts'
import type { Table } from '../table.ts'

export interface MovedTable {
  readonly name: string
  readonly columns: readonly Column[]
  /** The primary key, in whose order the move reads the rows; empty if the table has none. */
  readonly key: readonly string[]
}

/** A value of a key as in JSON: bytes are hex. */
type RowKeyValue = string | number
export type RowKey = readonly RowKeyValue[]

/** Tables of the move itself. */
const OWN = /^gh_move/

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
const list = (names: readonly string[]): string => names.map(quote).join(', ')

const TABLES = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
  // A partition is part of its table.
  postgres: `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p')
    AND NOT relispartition AND relnamespace = current_schema()::regnamespace`,
} as const

const PRIMARY_KEY = {
  sqlite: 'SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk',
  postgres: `SELECT attname AS name FROM pg_index
    CROSS JOIN LATERAL unnest(indkey::int[]) WITH ORDINALITY AS part(number, place)
    JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number
    WHERE indrelid = to_regclass(quote_ident(?)) AND indisprimary ORDER BY place`,
} as const

/** Returns the names of all tables, those of others in the schema included. */
export async function listTables(db: Database): Promise<string[]> {
  const rows = await db.all<{ name: string }>(prepareStatement(TABLES[db.name])([]))
  return rows.map(({ name }) => name)
}

/**
 * Returns the columns that identify a row, and in whose order pages of rows are read; none for a
 * table of the team without a primary key. A table with scopes and ids, such as that of a resource,
 * is read by customer.
 */
async function readKey(db: Database, table: string): Promise<readonly string[]> {
  const rows = await db.all<{ name: string }>(prepareStatement(PRIMARY_KEY[db.name])([table]))
  const key = rows.map(({ name }) => name)
  const isById = key.length === 1 && key[0] === 'id' && !table.startsWith('gh_')
  if (!isById) return key
  const columns = await db.columns(table)
  return columns.some(({ name }) => name === 'scope') ? ['scope', 'id'] : key
}

/** The column that identifies a row of a table without a primary key. */
const ROW_PLACE = { sqlite: 'rowid', postgres: 'ctid' } as const

/** As `readKey`; for a table without a primary key, the column that the database adds. */
export async function readRowKey(db: Database, table: string): Promise<readonly string[]> {
  const key = await readKey(db, table)
  return key.length > 0 ? key : [ROW_PLACE[db.name]]
}

async function tableNames(db: Database, engine: readonly Table[]): Promise<string[]> {
  const behind = new Set(engine.filter(({ staysBehind }) => staysBehind).map(({ name }) => name))
  return (await listTables(db)).filter((name) => !OWN.test(name) && !behind.has(name)).sort()
}

/**
 * Describes the tables that move, those of resources included; with `isOwn`, those of others in the
 * schema are left out.
 */
export async function describeTables(
  db: Database,
  engine: readonly Table[],
  isOwn: (name: string) => boolean = () => true,
): Promise<MovedTable[]> {
  const tables: MovedTable[] = []
  for (const name of (await tableNames(db, engine)).filter(isOwn)) {
    tables.push({ name, columns: await db.columns(name), key: await readKey(db, name) })
  }
  return tables
}

/** Returns those of the tables that have no primary key. */
export async function listKeyless(db: Database, tables: readonly string[]): Promise<string[]> {
  const keyless: string[] = []
  for (const table of tables) if ((await readKey(db, table)).length === 0) keyless.push(table)
  return keyless
}

/** Throws `StorageError` for a table that no move can copy. */
export function requireKeys(tables: readonly MovedTable[]): void {
  const keyless = tables.find(({ key }) => key.length === 0)
  if (!keyless) return
  throw new StorageError(
    `The table ${keyless.name} has no primary key, by which a move copies its rows. Add one in a ` +
      'migration, apply it by gatehook migrate, and run the move again.',
  )
}

/** Throws `StorageError` when the target lacks a table or a column of the source. */
export async function requireSameTables(
  target: Database,
  tables: readonly MovedTable[],
): Promise<void> {
  for (const { name, columns } of tables) {
    const existingColumns = new Set((await target.columns(name)).map((column) => column.name))
    const missingColumn = columns.find((column) => !existingColumns.has(column.name))
    if (existingColumns.size === 0 || missingColumn) {
      const subject =
        existingColumns.size === 0 ? `table ${name}` : `column ${missingColumn!.name} of ${name}`
      throw new StorageError(
        `The source has the ${subject}, which the service does not declare: its rows would be ` +
          'lost. Drop it, or declare it in a migration, and run the move again.',
      )
    }
  }
}

export async function countAllRows(reader: Reader, tables: readonly MovedTable[]): Promise<number> {
  let rows = 0
  for (const table of tables) rows += await countRows(reader, table)
  return rows
}

export async function countRows(reader: Reader, { name }: MovedTable): Promise<number> {
  const row = await reader.get(prepareStatement(`SELECT count(*) AS rows FROM ${quote(name)}`)([]))
  return Number(row!.rows)
}

/** Rows per read at most. */
const PAGE_ROWS = 2_000

interface MovedPage {
  readonly rows: readonly Value[][]
  /** The key after which the next page begins; undefined after the last row. */
  readonly next: RowKey | undefined
}

const sizedColumn = ({ name, type }: Column) => ({ name: quote(name), type })
const keyValue = (value: Value): RowKeyValue => jsonValue(value) as RowKeyValue

/** Reads rows in the order of the key. */
export class TableReader {
  readonly #readPage: ReadBytePage
  readonly #table: MovedTable
  readonly #keyAt: readonly number[]

  constructor(table: MovedTable) {
    const { name, columns, key } = table
    this.#table = table
    this.#keyAt = key.map((column) => columns.findIndex(({ name }) => name === column))
    this.#readPage = createBytePages(quote(name), columns.map(sizedColumn), key.map(quote))
  }

  /** Returns the rows after the key `after`; the first rows if it is undefined. */
  async page(reader: Reader, after: RowKey | undefined): Promise<MovedPage> {
    const { rows, next } = await this.#readPage(reader, after && this.values(after), PAGE_ROWS)
    return { rows, next: next?.map(keyValue) }
  }

  keyOf(row: readonly Value[]): RowKey {
    return this.#keyAt.map((at) => keyValue(row[at]!))
  }

  /** Returns the key as values of the database. */
  values(key: RowKey): Value[] {
    return this.#keyAt.map((at, n) =>
      this.#table.columns[at]!.type === 'bytes' ? Buffer.from(String(key[n]), 'hex') : key[n]!,
    )
  }

  /** Returns the rows of the keys that exist, in no order. */
  rows(db: Database, keys: readonly RowKey[]): Promise<Value[][]> {
    return this.#select(db, list(this.#table.columns.map((column) => column.name)), keys)
  }

  /** Returns the bytes of the rows of the keys that exist, by the text of their keys. */
  async sizes(db: Database, keys: readonly RowKey[]): Promise<ReadonlyMap<string, number>> {
    const { columns, key } = this.#table
    const bytes = bytesOf(columns.map(sizedColumn))[db.name]
    const rows = await this.#select(db, `${list(key)}, ${bytes}`, keys)
    return new Map(rows.map((row) => [`${row.slice(0, -1).map(keyValue)}`, Number(row.at(-1))]))
  }

  async #select(db: Database, terms: string, keys: readonly RowKey[]): Promise<Value[][]> {
    const rows: Value[][] = []
    for (const part of parts(keys, this.#keyAt.length)) {
      const condition = isOneOf(db.name, this.#table.key, part.length)
      const text = `SELECT ${terms} FROM ${quote(this.#table.name)} WHERE ${condition}`
      rows.push(
        ...(await db.arrays(prepareStatement(text)(part.flatMap((key) => this.values(key))))),
      )
    }
    return rows
  }

  deletions(name: Database['name'], keys: readonly RowKey[]): Statement[] {
    return parts(keys, this.#keyAt.length).map((part) => {
      const condition = isOneOf(name, this.#table.key, part.length)
      const text = `DELETE FROM ${quote(this.#table.name)} WHERE ${condition}`
      return prepareStatement(text)(part.flatMap((key) => this.values(key)))
    })
  }
}

/** Returns the SQL condition that a row has one of `count` keys; it differs by database. */
function isOneOf(name: Database['name'], key: readonly string[], count: number): string {
  const keyRow = `(${key.map(() => '?').join(', ')})`
  const all = Array(count).fill(keyRow).join(', ')
  const columns = key.length === 1 ? list(key) : `(${list(key)})`
  return `${columns} IN (${name === 'sqlite' ? `VALUES ${all}` : all})`
}

const jsonValue = (value: Value): string | number | null =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value

/** Rows per statement. Batches of every size use these few texts. */
const STATEMENT_ROWS = [200, 20, 1] as const
const PARAMETERS_MAX = 30_000

/** Divides rows of `width` values into one group per statement. */
function parts<T>(rows: readonly T[], width: number): T[][] {
  const groups: T[][] = []
  for (let at = 0; at < rows.length; ) {
    const left = rows.length - at
    const size = STATEMENT_ROWS.find((n) => n <= left && n * width <= PARAMETERS_MAX) ?? 1
    groups.push(rows.slice(at, at + size))
    at += size
  }
  return groups
}

/** Returns the statements that insert the rows; rows that conflict are left out. */
export function insertStatements(
  table: MovedTable,
  rows: readonly (readonly Value[])[],
): Statement[] {
  const names = table.columns.map((column) => column.name)
  const line = `(${names.map(() => '?').join(', ')})`
  return parts(rows, names.length).map((part) => {
    const lines = Array(part.length).fill(line).join(', ')
    const text = `INSERT INTO ${quote(table.name)} (${list(names)}) VALUES ${lines}`
    return prepareStatement(`${text} ON CONFLICT DO NOTHING`)(part.flat())
  })
}

const SHA256_BYTES = 32

export interface Fingerprint {
  readonly rows: number
  readonly sha256: string
}

/** Transaction ids differ between servers and mean nothing on SQLite. */
const isCompared = ({ name }: Column): boolean => name !== 'txid'

/** Returns a function with the compared values of a row, as text that is the same on both sides. */
export function lineReader({ columns }: MovedTable): (row: readonly Value[]) => string {
  const comparedColumns = columns
    .flatMap((column, at) => (isCompared(column) ? [{ name: column.name, at }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return (row) => JSON.stringify(comparedColumns.map(({ at }) => jsonValue(row[at]!)))
}

/**
 * Returns the number of rows and the XOR of their checksums, in constant memory: databases may
 * order text differently.
 */
export async function fingerprint(
  db: Database,
  table: MovedTable,
  onRows: (count: number) => void = () => {},
): Promise<Fingerprint> {
  const reader = new TableReader(table)
  const lineOf = lineReader(table)
  const sum = Buffer.alloc(SHA256_BYTES)
  let rows = 0
  let after: RowKey | undefined
  for (;;) {
    const page = await reader.page(db, after)
    for (const row of page.rows) {
      const digest = hash('sha256', lineOf(row), 'buffer')
      for (let at = 0; at < SHA256_BYTES; at++) sum[at]! ^= digest[at]!
    }
    rows += page.rows.length
    onRows(page.rows.length)
    if (page.next === undefined) return { rows, sha256: sum.toString('hex') }
    after = page.next
  }
}
