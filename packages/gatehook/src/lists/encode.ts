/**
 * Encodes a row, which is an array, as JSON text in one step, without an intermediate object. Pure.
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

/** Encodes one cell as JSON. */
export const encodeCell = (type: CellType, value: Value): string =>
  value === null ? 'null' : encoders[type](value)

/** Returns an encoder for cells of one type. */
export function cellEncoder(type: CellType): Encode {
  const encode = encoders[type]
  return (value) => (value === null ? 'null' : encode(value))
}

/**
 * Creates the view of a table whose cells are encoded without transformation. `links` returns the
 * JSON of `_links` for a row.
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
  const encodeAll = (row: readonly Value[]): string => {
    let json = ''
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      const value = row[at]!
      json += cell.lead + (value === null ? 'null' : cell.encode(value))
    }
    return json
  }
  const encodeSelected = (row: readonly Value[], fields: ReadonlySet<string>): string => {
    const parts: string[] = []
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      if (fields.has(cell.name))
        parts.push(`"${cell.name}":${encodeCell(columns[at]!.type, row[at]!)}`)
    }
    return parts.join(',')
  }
  return {
    fields: columns.map((column) => column.name),
    item(row, options) {
      const body = options.fields ? encodeSelected(row, options.fields) : encodeAll(row)
      if (!options.links) return `{${body}}`
      return `{${body}${body === '' ? '' : ','}"_links":${links(row)}}`
    },
  }
}
