/**
 * Reads a table page by page in the order of a unique key, in constant memory. A page after a key
 * is read in ranges: rows that share all, then fewer, leading columns of the key. Each range is one
 * seek on both databases.
 */
import type { Reader, Value } from './database.ts'
import { prepareStatement } from './sql.ts'

/** Returns at most `limit` rows after the key `after`; the first rows if it is undefined. */
export type ReadKeyPage = (
  reader: Reader,
  after: readonly Value[] | undefined,
  limit: number,
) => Promise<Value[][]>

/**
 * `select`: a statement without conditions and order. `key`: SQL names of the columns. `locks`:
 * locks the rows against changes until the transaction ends; SQLite has one writer.
 */
export function createKeyPages(
  select: string,
  key: readonly string[],
  { locks = false } = {},
): ReadKeyPage {
  const order = `ORDER BY ${key.join(', ')} LIMIT ?`
  const prepare = (text: string) => prepareStatement(locks ? `${text} FOR UPDATE` : text, text)
  const first = prepare(`${select} ${order}`)
  const ranges = key.map((_, depth) => {
    const length = key.length - 1 - depth
    const shared = key.slice(0, length).map((column) => `${column} = ?`)
    return prepare(`${select} WHERE ${[...shared, `${key[length]} > ?`].join(' AND ')} ${order}`)
  })
  return async (reader, after, limit) => {
    if (after === undefined) return reader.arrays(first([limit]))
    const rows: Value[][] = []
    for (const [depth, range] of ranges.entries()) {
      const bounds = after.slice(0, after.length - depth)
      rows.push(...(await reader.arrays(range([...bounds, limit - rows.length]))))
      if (rows.length === limit) break
    }
    return rows
  }
}
