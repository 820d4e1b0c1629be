/**
 * Tables of the administration: the definition of a list yields single rows and the rows of the
 * command line as well, all in the same JSON form. Each module defines its own tables.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { Member } from '../../protocol/fields/members.ts'
import { createList, type EngineList, type List } from '../../protocol/lists/definition.ts'

export interface AdminTable<T> extends List {
  /** Returns the JSON form of a stored row, the same as in lists. */
  toJson(row: Row): T
  /** Returns the row of an id. Throws 404. */
  read(from: Reader, id: string): Promise<T>
  /** Returns all rows by ascending id, for the command line. */
  readAll(from: Reader): Promise<T[]>
}

const PAGE_ROWS = 500

interface AdminTableDefinition<T> extends EngineList {
  readonly row: Member<unknown, T>
  /** The table that leads from an id to its scope, by a column, if `table` is distributed. */
  readonly route?: { readonly table: string; readonly column: string }
}

/** Creates a table of the installation. Its rows have no members that no column has. */
export function createAdminTable<T>({ route, ...list }: AdminTableDefinition<T>): AdminTable<T> {
  const { table, where = '1 = 1' } = list
  const { collection, view } = createList(list)
  const names = collection.columns.map(({ name }) => name)
  const [id] = names as [string, ...string[]]
  const toJson = (row: Row): T =>
    JSON.parse(
      view.item(
        names.map((name) => row[name] ?? null),
        {},
      ),
    )
  const select = `SELECT ${names.join(', ')} FROM ${table} WHERE ${where}`
  const byId = prepareStatement(`${select} AND ${id} = ?`)
  const byPlace = prepareStatement(`${select} AND scope = ? AND ${id} = ?`)
  const scopeOf =
    route && prepareStatement(`SELECT scope FROM ${route.table} WHERE ${route.column} = ? LIMIT 1`)
  const pageAfter = prepareStatement(`${select} AND ${id} > ? ORDER BY ${id} LIMIT ${PAGE_ROWS}`)
  return {
    collection,
    view,
    toJson,
    async read(from, id) {
      // `get` may lock the row; the route is not locked.
      const [place] = scopeOf ? await from.arrays(scopeOf([id])) : []
      if (scopeOf && !place) throw new Failure('not_found')
      const row = await from.get(place ? byPlace([place[0], id]) : byId([id]))
      if (!row) throw new Failure('not_found')
      return toJson(row)
    },
    async readAll(from) {
      const rows: Row[] = []
      for (let after = collection.integerId ? 0 : ''; ; after = rows.at(-1)![id]) {
        const page = await from.all(pageAfter([after]))
        rows.push(...page)
        if (page.length < PAGE_ROWS) return rows.map(toJson)
      }
    },
  }
}
