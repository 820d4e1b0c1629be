/**
 * From a row as an array to JSON text, in one step: no object in between, nothing turned into JSON
 * twice. Pure.
 */
import { isoTime } from '../kernel/time.ts'
import type { Value } from '../storage/database.ts'
import type { CellType, ListColumn, View } from './collection.ts'

type Encode = (value: Value) => string

const text: Encode = (value) => JSON.stringify(value)
const plain: Encode = (value) => String(value)

const encoders: Readonly<Record<CellType, Encode>> = {
  int: plain,
  real: plain,
  text,
  email: text,
  time: (value) => `"${isoTime(value as number)}"`,
  bool: (value) => (value ? 'true' : 'false'),
  json: plain,
}

/** JSON text of one cell. */
export const encodeCell = (type: CellType, value: Value): string =>
  value === null ? 'null' : encoders[type](value)

/** The same for cells of one type. */
export function cellEncoder(type: CellType): Encode {
  const encode = encoders[type]
  return (value) => (value === null ? 'null' : encode(value))
}

/**
 * The view of a table whose cells are shown as they are stored. `links` gives JSON text for
 * `_links` from the row.
 */
export function cellView(
  columns: readonly ListColumn[],
  links: (row: readonly Value[]) => string,
): View {
  const cells = columns.map((column, at) => ({
    name: column.name,
    lead: `${at === 0 ? '' : ','}"${column.name}":`,
    encode: encoders[column.type],
  }))
  const whole = (row: readonly Value[]): string => {
    let out = ''
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      const value = row[at]!
      out += cell.lead + (value === null ? 'null' : cell.encode(value))
    }
    return out
  }
  const some = (row: readonly Value[], fields: ReadonlySet<string>): string => {
    const out: string[] = []
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      if (fields.has(cell.name))
        out.push(`"${cell.name}":${encodeCell(columns[at]!.type, row[at]!)}`)
    }
    return out.join(',')
  }
  return {
    fields: columns.map((column) => column.name),
    item(row, options) {
      const body = options.fields ? some(row, options.fields) : whole(row)
      if (!options.links) return `{${body}}`
      return `{${body}${body === '' ? '' : ','}"_links":${links(row)}}`
    },
  }
}
