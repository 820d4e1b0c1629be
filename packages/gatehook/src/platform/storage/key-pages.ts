/**
 * Reads a table page by page in the order of a unique key, in constant memory. A page after a key
 * is read in ranges: rows that share all, then fewer, leading columns of the key. Each range is one
 * seek on both databases.
 */
import type { Database, Reader, Value } from './database.ts'
import type { DatabaseName } from './expressions.ts'
import { bytesOf, countFitting, type SizedColumn } from './page-bytes.ts'
import { prepareStatement } from './sql.ts'

/** Returns at most `limit` rows after the key `after`; the first rows if it is undefined. */
export type ReadKeyPage = (
  reader: Reader,
  after: readonly Value[] | undefined,
  limit: number,
) => Promise<Value[][]>

/**
 * @param select - a statement without conditions and order; its rows must be small
 * @param key - SQL names of the columns
 */
export function createKeyPages(
  select: string | Record<DatabaseName, string>,
  key: readonly string[],
  suffix = '',
): ReadKeyPage {
  const order = `ORDER BY ${key.join(', ')} LIMIT ?`
  const { postgres, sqlite } =
    typeof select === 'string' ? { postgres: select, sqlite: select } : select
  const prepare = (rest: string) =>
    prepareStatement(`${postgres} ${rest}${suffix}`, `${sqlite} ${rest}`)
  const first = prepare(order)
  const ranges = key.map((_, depth) => {
    const length = key.length - 1 - depth
    const shared = key.slice(0, length).map((column) => `${column} = ?`)
    return prepare(`WHERE ${[...shared, `${key[length]} > ?`].join(' AND ')} ${order}`)
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

interface BytePage {
  readonly rows: Value[][]
  /** The key after which the next page begins; undefined after the last row. */
  readonly next: readonly Value[] | undefined
}

/** Returns the rows after a key: at most `limit`, as many as fit into a page of bytes. */
export type ReadBytePage = (...args: Parameters<ReadKeyPage>) => Promise<BytePage>

/**
 * Rows that others add or delete between both reads must not end the pages early.
 *
 * @param readHeads - reads the key of each row and, as the last column, its bytes
 * @param keyAt - the places of the key in the rows
 */
const boundPages =
  (readHeads: ReadKeyPage, readRows: ReadKeyPage, keyAt: readonly number[]): ReadBytePage =>
  async (reader, after, limit) => {
    const heads = await readHeads(reader, after, limit)
    if (heads.length === 0) return { rows: [], next: undefined }
    const count = countFitting(heads.map((head) => Number(head.at(-1))))
    const rows = await readRows(reader, after, count)
    const end = heads[count - 1]!.slice(0, keyAt.length)
    const last = rows.at(-1)
    const next = last ? keyAt.map((at) => last[at]!) : end
    const isLast = count === heads.length && count < limit && `${next}` === `${end}`
    return { rows, next: isLast ? undefined : next }
  }

/** Reads columns of a table in the order of its key. All names are SQL. */
export function createBytePages(
  table: string,
  columns: readonly SizedColumn[],
  key: readonly string[],
): ReadBytePage {
  const bytes = bytesOf(columns)
  const headsOf = (name: DatabaseName) => `SELECT ${key.join(', ')}, ${bytes[name]} FROM ${table}`
  const heads = { postgres: headsOf('postgres'), sqlite: headsOf('sqlite') }
  const names = columns.map(({ name }) => name).join(', ')
  const readRows = createKeyPages(`SELECT ${names} FROM ${table}`, key)
  const keyAt = key.map((column) => columns.findIndex(({ name }) => name === column))
  return boundPages(createKeyPages(heads, key), readRows, keyAt)
}

const LOCKS = ' FOR UPDATE'

/**
 * Reads rows in the order of scope and id, and locks them against changes until the transaction
 * ends; SQLite has one writer. In distributed tables each statement names its scope, because Citus
 * locks the rows of one server.
 *
 * @param terms - SQL of the columns after scope and id
 * @param sized - the columns of `terms` that the table stores
 */
export function createRowPages(
  db: Pick<Database, 'name' | 'dialect'>,
  table: string,
  terms: string,
  sized: readonly SizedColumn[],
): ReadBytePage {
  const readHeads = createScopedPages(db, table, bytesOf(sized)[db.name])
  return boundPages(readHeads, createScopedPages(db, table, terms, LOCKS), [0, 1])
}

function createScopedPages(
  { dialect }: Pick<Database, 'dialect'>,
  table: string,
  terms: string,
  locks = '',
): ReadKeyPage {
  const select = `SELECT scope, id, ${terms} FROM ${table}`
  if (!dialect.distributed) return createKeyPages(select, ['scope', 'id'], locks)
  const nextScope = prepareStatement(`SELECT min(scope) FROM ${table} WHERE scope > ?`)
  const ofScope = prepareStatement(`${select} WHERE scope = ? ORDER BY id LIMIT ?${locks}`)
  const afterId = prepareStatement(
    `${select} WHERE scope = ? AND id > ? ORDER BY id LIMIT ?${locks}`,
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
