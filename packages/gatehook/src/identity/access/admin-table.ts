/**
 * Tables of the administration: one description of a table yields its list, its single rows and the
 * rows of the command line, all in the same JSON form. Each module describes its own tables.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Reader, Row, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { integerCell } from '../../protocol/fields/kinds/cells.ts'
import type { Member } from '../../protocol/fields/members.ts'
import type { Collection, ListColumn, View } from '../../protocol/lists/collection.ts'
import { columnsOf } from '../../protocol/lists/columns.ts'
import { cellView } from '../../protocol/lists/encode.ts'

export interface AdminTable<T> {
  readonly collection: Collection
  readonly view: View
  /** Returns the JSON form of a stored row, the same as in lists. */
  toJson(row: Row): T
  /** Returns the row of an id. Throws 404. */
  read(from: Reader, id: string): Promise<T>
  /** Returns all rows by ascending id, for the command line. */
  readAll(from: Reader): Promise<T[]>
}

const PAGE_ROWS = 500

/** Rows of the installation: no customer's scope, no stored totals. */
interface AdminTableDescription
  extends Omit<Collection, 'columns' | 'integerId' | 'scoped' | 'hasStoredTotal'> {
  /** The columns with the folded texts of columns, by name (§4.8). */
  readonly folded?: Readonly<Record<string, string>>
  /** Members without a column of their own: the column that they repeat; undefined: null. */
  readonly repeated?: Readonly<Record<string, string | undefined>>
  /** The table that leads from an id to its scope, by a column, if `table` is distributed. */
  readonly route?: { readonly table: string; readonly column: string }
}

/** Returns the view of rows that lack repeated members. */
function withRepeated(
  view: View,
  members: readonly ListColumn[],
  names: readonly string[],
  repeated: NonNullable<AdminTableDescription['repeated']>,
): View {
  if (Object.keys(repeated).length === 0) return view
  const indexes = members.map(({ name }) => {
    const column = Object.hasOwn(repeated, name) ? repeated[name] : name
    return column === undefined ? -1 : names.indexOf(column)
  })
  return {
    ...view,
    item: (row, options) =>
      view.item(
        indexes.map((at) => row[at] ?? null),
        options,
      ),
  }
}

/** Creates a table whose rows are served at `path`/`id`; its columns are the members of `row`. */
export function createAdminTable<T>(
  row: Member<unknown, T>,
  description: AdminTableDescription,
  path: string,
): AdminTable<T> {
  const { route, folded = {}, repeated = {}, ...list } = description
  const { table, where = '1 = 1' } = list
  const members = columnsOf(row)
  const columns = members
    .filter(({ name }) => !Object.hasOwn(repeated, name))
    .map((column) => ({ ...column, folded: folded[column.name] }))
  const integerId = columns[0]!.type === integerCell
  const collection = { ...list, columns, integerId, scoped: false }
  const names = columns.map(({ name }) => name)
  const [id] = names as [string, ...string[]]
  const links = (row: readonly Value[]) => `{"self":${JSON.stringify(`${path}/${row[0]}`)}}`
  const view = withRepeated(cellView(members, links), members, names, repeated)
  const toJson = (row: Row): T => {
    const cells = names.map((name) => row[name])
    return JSON.parse(view.item(cells, {}))
  }
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
      for (let after = integerId ? 0 : ''; ; after = rows.at(-1)![id]) {
        const page = await from.all(pageAfter([after]))
        rows.push(...page)
        if (page.length < PAGE_ROWS) return rows.map(toJson)
      }
    },
  }
}
