/** Reads the rows of a page whose ids were read before. */
import type { Reader, Value } from '../../platform/storage/database.ts'
import { ID_LIST_SIZES, join, raw, seekByIds, sql } from '../../platform/storage/sql.ts'
import type { Key } from './cursor.ts'
import { bind, statementOf } from './examined-rows.ts'
import { sourceOf } from './page-query.ts'
import { idOf, selectedColumns, type Walk } from './walk.ts'

/** Reads the rows of the ids, in the order of the ids. */
export async function readRowsOfIds(
  reader: Reader,
  walk: Walk,
  ids: readonly Key[],
): Promise<Value[][]> {
  if (ids.length === 0) return []
  const size = ID_LIST_SIZES.find((candidate) => candidate >= ids.length)!
  const paddedIds = [...ids, ...Array<Key>(size - ids.length).fill(ids.at(-1)!)]
  const columns = selectedColumns(walk)
  const names = columns.join(', ')
  const id = idOf(walk.collection)
  const parts = walk.collection.scoped ? [sql`scope = ${walk.scope}`] : []
  const where = join([...parts, sql`${raw(id)} IN (${join(paddedIds)})`], ' AND ')
  const statement = statementOf(
    sql`SELECT ${raw(names)} FROM ${bind(sourceOf(walk, columns), walk)} WHERE ${where}`,
  )
  const rows = await reader.arrays({
    ...statement,
    ...(walk.collection.integerId && { sql: seekByIds(statement.sql) }),
  })
  const byId = new Map(rows.map((row) => [row[0], row]))
  return ids.map((id) => byId.get(id)!)
}
