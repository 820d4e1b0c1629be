/**
 * Reads a table page by page in the order of a unique key, in constant memory. A page after a key
 * is read in ranges: rows that share all, then fewer, leading columns of the key. Each range is one
 * seek on both databases.
 */
import type { Database, Reader, Value } from './database.ts'
import { prepareStatement } from './sql.ts'

/** Returns at most `limit` rows after the key `after`; the first rows if it is undefined. */
export type ReadKeyPage = (
  reader: Reader,
  after: readonly Value[] | undefined,
  limit: number,
) => Promise<Value[][]>

/** `select`: a statement without conditions and order. `key`: SQL names of the columns. */
export function createKeyPages(select: string, key: readonly string[], suffix = ''): ReadKeyPage {
  const order = `ORDER BY ${key.join(', ')} LIMIT ?`
  const prepare = (text: string) => prepareStatement(`${text}${suffix}`, text)
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

const LOCKS = ' FOR UPDATE'

/**
 * Reads rows in the order of scope and id, and locks them against changes until the transaction
 * ends; SQLite has one writer. In distributed tables each statement names its scope, because Citus
 * locks the rows of one server.
 *
 * @param columns - SQL of the columns after scope and id
 */
export function createRowPages(
  { dialect }: Pick<Database, 'dialect'>,
  table: string,
  columns: string,
): ReadKeyPage {
  const select = `SELECT scope, id, ${columns} FROM ${table}`
  if (!dialect.distributed) return createKeyPages(select, ['scope', 'id'], LOCKS)
  const nextScope = prepareStatement(`SELECT min(scope) FROM ${table} WHERE scope > ?`)
  const ofScope = prepareStatement(`${select} WHERE scope = ? ORDER BY id LIMIT ?${LOCKS}`)
  const afterId = prepareStatement(
    `${select} WHERE scope = ? AND id > ? ORDER BY id LIMIT ?${LOCKS}`,
  )
  return async (reader, after, limit) => {
    const rows = after ? await reader.arrays(afterId([...after, limit])) : []
    let scope = after?.[0] ?? 0
    while (rows.length < limit) {
      const [next] = await reader.arrays(nextScope([scope]))
      if (next?.[0] == null) break
      scope = next[0]
      rows.push(...(await reader.arrays(ofScope([scope, limit - rows.length]))))
    }
    return rows
  }
}
