/** SQL over the encrypted columns of all modules: reads in pages, replaces and counts values. */
import { HEAD_BYTES, headOf } from '../../kernel/secret.ts'
import type { Reader, Tx, Value } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { createKeyPages } from '../storage/key-pages.ts'
import { prepareStatement } from '../storage/sql.ts'

/** The first bytes of an encrypted value, which identify its key, and its size. */
export interface ValueHead {
  readonly key: readonly Value[]
  /** Format and key id; null if the column is null. */
  readonly head: Uint8Array | null
  readonly sizeBytes: number
}

/** Returns at most `limit` heads of rows after the key `after`, in the order of their keys. */
export async function listHeads(
  from: Reader,
  { table, column, key }: EncryptedColumn,
  after: readonly Value[] | undefined,
  limit: number,
): Promise<ValueHead[]> {
  const heads = `substr(${column}, 1, ${HEAD_BYTES}), length(${column})`
  const readPage = createKeyPages(`SELECT ${key.join(', ')}, ${heads} FROM ${table}`, key)
  return (await readPage(from, after, limit)).map((row) => ({
    key: row.slice(0, key.length),
    head: row[key.length] as Uint8Array | null,
    sizeBytes: Number(row[key.length + 1] ?? 0),
  }))
}

const whereKey = ({ key }: EncryptedColumn) => key.map((name) => `${name} = ?`).join(' AND ')

/** Returns the encrypted value of one row; null if the row or its value is missing. */
export async function readValue(
  from: Reader,
  column: EncryptedColumn,
  key: readonly Value[],
): Promise<Uint8Array | null> {
  const text = `SELECT ${column.column} FROM ${column.table} WHERE ${whereKey(column)}`
  const [row] = await from.arrays(prepareStatement(text)(key))
  return (row?.[0] as Uint8Array | undefined) ?? null
}

/** Returns false if the value changed since it was read: it is under the new key then. */
export async function replaceValue(
  tx: Tx,
  column: EncryptedColumn,
  key: readonly Value[],
  from: Uint8Array,
  to: Uint8Array,
): Promise<boolean> {
  const name = column.column
  const text = `UPDATE ${column.table} SET ${name} = ? WHERE ${whereKey(column)} AND ${name} = ?`
  return (await tx.run(prepareStatement(text)([to, ...key, from]))) === 1
}

/** Returns some value of a column with its key; undefined if there is none. */
export async function findAnyValue(
  from: Reader,
  { table, column, key }: EncryptedColumn,
): Promise<{ readonly key: readonly Value[]; readonly value: Uint8Array } | undefined> {
  const text = `SELECT ${key.join(', ')}, ${column} FROM ${table} WHERE ${column} IS NOT NULL`
  const [row] = await from.arrays(prepareStatement(`${text} LIMIT 1`)([]))
  return row && { key: row.slice(0, key.length), value: row[key.length] as Uint8Array }
}

/** Counts the values of a column, in total and under each of `keyIds`. */
export async function countValues(
  from: Reader,
  { table, column }: EncryptedColumn,
  keyIds: readonly string[],
): Promise<{ readonly total: number; readonly byKeyId: readonly number[] }> {
  const start = `substr(${column}, 1, ${HEAD_BYTES})`
  const sums = keyIds.map(() => `, COALESCE(SUM(CASE WHEN ${start} = ? THEN 1 ELSE 0 END), 0)`)
  const text = `SELECT COUNT(*) ${sums.join('')} FROM ${table} WHERE ${column} IS NOT NULL`
  const [row] = await from.arrays(prepareStatement(text)(keyIds.map(headOf)))
  const [total = 0, ...byKeyId] = row!.map(Number)
  return { total, byKeyId }
}
