/**
 * Encodes a row, which is an array, as JSON text in one step, without an intermediate object. Pure.
 */

import type { Value } from '../../platform/storage/database.ts'
import type { ListCell } from '../fields/kind.ts'
import { boolCell } from '../fields/kinds/bool.ts'
import { integerCell, jsonCell, textCell } from '../fields/kinds/cells.ts'
import { numberCell } from '../fields/kinds/number.ts'
import { timeCell } from '../fields/kinds/time.ts'
import type { CellType, ListColumn, View } from './collection.ts'

const namedCells: Readonly<Record<CellType, ListCell>> = {
  int: integerCell,
  real: numberCell,
  text: textCell,
  time: timeCell,
  bool: boolCell,
  json: jsonCell,
}

/** Returns the cell of a column. */
export const cellOf = ({ type }: Pick<ListColumn, 'type'>): ListCell =>
  typeof type === 'string' ? namedCells[type] : type

export function cellEncoder(column: Pick<ListColumn, 'type'>): ListCell['encode'] {
  const { encode, none = 'null' } = cellOf(column)
  return (value) => (value === null ? none : encode(value))
}

/**
 * Creates the view of a table whose cells are encoded without transformation. `links` returns the
 * JSON of `_links` for a row; `hidden` names columns that the view lacks.
 */
export function cellView(
  columns: readonly ListColumn[],
  links: (row: readonly Value[]) => string,
  hidden: ReadonlySet<string> = new Set(),
): View {
  const visible = columns.filter(({ name }) => !hidden.has(name))
  const cells = visible.map((column, n) => ({
    name: column.name,
    index: columns.indexOf(column),
    lead: `${n === 0 ? '' : ','}"${column.name}":`,
    encode: cellOf(column).encode,
    none: cellOf(column).none ?? 'null',
  }))
  const encodeAll = (row: readonly Value[]): string => {
    let json = ''
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      const value = row[cell.index]!
      json += cell.lead + (value === null ? cell.none : cell.encode(value))
    }
    return json
  }
  const encodeSelected = (row: readonly Value[], fields: ReadonlySet<string>): string => {
    const parts: string[] = []
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      if (!fields.has(cell.name)) continue
      const value = row[cell.index]!
      parts.push(`"${cell.name}":${value === null ? cell.none : cell.encode(value)}`)
    }
    return parts.join(',')
  }
  return {
    fields: visible.map((column) => column.name),
    item(row, options) {
      const body = options.fields ? encodeSelected(row, options.fields) : encodeAll(row)
      if (!options.links) return `{${body}}`
      return `{${body}${body === '' ? '' : ','}"_links":${links(row)}}`
    },
  }
}
