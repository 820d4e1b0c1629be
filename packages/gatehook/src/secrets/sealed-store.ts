/** SQL over encrypted columns, whichever they are: read in pages by key, replaced, counted. */
import { HEAD_BYTES, headOf } from '../kernel/secret.ts'
import type { Reader, Tx, Value } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { fixed } from '../storage/sql.ts'

/** The start of a value: enough to know whether it needs rewriting, and how large it is. */
export interface SealedHead {
  readonly key: readonly Value[]
  /** Format and key id; null: no value. */
  readonly head: Uint8Array | null
  readonly bytes: number
}

const headOfRow =
  (width: number) =>
  (row: readonly Value[]): SealedHead => ({
    key: row.slice(0, width),
    head: row[width] as Uint8Array | null,
    bytes: Number(row[width + 1] ?? 0),
  })

/** At most `limit` rows after the key `after`, in the order of their keys. */
export async function headsAfter(
  from: Reader,
  { table, column, key }: SealedColumn,
  after: readonly Value[] | undefined,
  limit: number,
): Promise<SealedHead[]> {
  const select = `SELECT ${key.join(', ')}, substr(${column}, 1, ${HEAD_BYTES}), length(${column})
    FROM ${table}`
  const order = `ORDER BY ${key.join(', ')} LIMIT ?`
  const read = async (where: string, values: readonly Value[], most: number) =>
    (await from.arrays(fixed(`${select} ${where} ${order}`)([...values, most]))).map(
      headOfRow(key.length),
    )
  if (!after) return read('', [], limit)
  if (key.length === 1) return read(`WHERE ${key[0]} > ?`, after, limit)
  // A comparison of pairs would seek on the first column only: so two ranges.
  const [first, second] = key
  const same = await read(`WHERE ${first} = ? AND ${second} > ?`, after, limit)
  if (same.length === limit) return same
  const rest = await read(`WHERE ${first} > ?`, after.slice(0, 1), limit - same.length)
  return [...same, ...rest]
}

const byKey = ({ key }: SealedColumn) => key.map((name) => `${name} = ?`).join(' AND ')

export async function sealedValue(
  from: Reader,
  column: SealedColumn,
  key: readonly Value[],
): Promise<Uint8Array | null> {
  const text = `SELECT ${column.column} FROM ${column.table} WHERE ${byKey(column)}`
  const [row] = await from.arrays(fixed(text)(key))
  return (row?.[0] as Uint8Array | undefined) ?? null
}

/** False where the value was changed meanwhile: then it is under the new key already. */
export async function replaceValue(
  tx: Tx,
  column: SealedColumn,
  key: readonly Value[],
  from: Uint8Array,
  to: Uint8Array,
): Promise<boolean> {
  const name = column.column
  const text = `UPDATE ${column.table} SET ${name} = ? WHERE ${byKey(column)} AND ${name} = ?`
  return (await tx.run(fixed(text)([to, ...key, from]))) === 1
}

/** Any value of a column, with its key. */
export async function firstValue(
  from: Reader,
  { table, column, key }: SealedColumn,
): Promise<{ readonly key: readonly Value[]; readonly value: Uint8Array } | undefined> {
  const text = `SELECT ${key.join(', ')}, ${column} FROM ${table} WHERE ${column} IS NOT NULL`
  const [row] = await from.arrays(fixed(`${text} LIMIT 1`)([]))
  return row && { key: row.slice(0, key.length), value: row[key.length] as Uint8Array }
}

/** How many values there are, and how many of them under each key id; the rest has none. */
export async function countValues(
  from: Reader,
  { table, column }: SealedColumn,
  keyIds: readonly string[],
): Promise<{ readonly total: number; readonly under: readonly number[] }> {
  const start = `substr(${column}, 1, ${HEAD_BYTES})`
  const sums = keyIds.map(() => `, COALESCE(SUM(CASE WHEN ${start} = ? THEN 1 ELSE 0 END), 0)`)
  const text = `SELECT COUNT(*) ${sums.join('')} FROM ${table} WHERE ${column} IS NOT NULL`
  const [row] = await from.arrays(fixed(text)(keyIds.map(headOf)))
  const [total = 0, ...under] = row!.map(Number)
  return { total, under }
}
