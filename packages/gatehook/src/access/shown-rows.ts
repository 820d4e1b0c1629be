/**
 * The rows of the administration as they are shown: one description of a table for its list, for a
 * single answer and for the command line. What rows there are is said in the rooms.
 */
import { Failure } from '../kernel/failure.ts'
import type { Collection, View } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { Reader, Row } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'

export interface ShownRows<T> {
  readonly collection: Collection
  readonly view: View
  /** A stored row as callers see it, exactly as in lists. */
  show(row: Row): T
  /** Throws 404. */
  read(from: Reader, id: string): Promise<T>
  /** By ascending ids: for the command line. */
  all(from: Reader): Promise<T[]>
}

const PAGE = 500

/** Rows of the installation: of no scope, and not counted. */
type Description = Omit<Collection, 'integerId' | 'scoped' | 'counted'>

/** `path`: where one is read, but for its id. */
export function shownRows<T>(description: Description, path: string): ShownRows<T> {
  const { table, columns, where = '1 = 1' } = description
  const integerId = columns[0]!.type === 'int'
  const collection = { ...description, integerId, scoped: false, counted: false }
  const names = columns.map(({ name }) => name)
  const [id] = names as [string, ...string[]]
  const view = cellView(columns, (row) => `{"self":${JSON.stringify(`${path}/${row[0]}`)}}`)
  const show = (row: Row): T =>
    JSON.parse(
      view.item(
        names.map((name) => row[name]),
        {},
      ),
    )
  const select = `SELECT ${names.join(', ')} FROM ${table} WHERE ${where}`
  const one = fixed(`${select} AND ${id} = ?`)
  const page = fixed(`${select} AND ${id} > ? ORDER BY ${id} LIMIT ${PAGE}`)
  return {
    collection,
    view,
    show,
    async read(from, id) {
      const row = await from.get(one([id]))
      if (!row) throw new Failure('not_found')
      return show(row)
    },
    async all(from) {
      const rows: Row[] = []
      for (let after = integerId ? 0 : ''; ; after = rows.at(-1)![id]) {
        const more = await from.all(page([after]))
        rows.push(...more)
        if (more.length < PAGE) return rows.map(show)
      }
    },
  }
}
