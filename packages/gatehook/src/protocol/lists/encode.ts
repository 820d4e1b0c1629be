/**
 * Encodes a row, which is an array, as JSON text in one step, without an intermediate object. Pure.
 */

import { isoTime } from '../../kernel/time.ts'
import type { Value } from '../../platform/storage/database.ts'
import { formatDecimal } from '../fields/decimal.ts'
import { formatDuration } from '../fields/duration.ts'
import type { CellType, ListColumn, View } from './collection.ts'

type Encode = (value: Value) => string

const text: Encode = (value) => JSON.stringify(value)
const plain: Encode = (value) => String(value)

const encoders: Readonly<Record<Exclude<CellType, 'decimal'>, Encode>> = {
  int: plain,
  real: plain,
  text,
  time: (value) => `"${isoTime(value as number)}"`,
  bool: (value) => (value ? 'true' : 'false'),
  json: plain,
  date: text,
  timeOfDay: text,
  uuid: text,
  duration: (value) => `"${formatDuration(value as number)}"`,
}

/** Returns the encoder of a column's cells that are not null. */
function filledEncoder({ type, decimal }: EncodedColumn): Encode {
  if (type !== 'decimal') return encoders[type]
  const { scale } = decimal!
  return (value) => `"${formatDecimal(value as number, scale)}"`
}

type EncodedColumn = Pick<ListColumn, 'type' | 'decimal'>

export function cellEncoder(column: EncodedColumn): Encode {
  const encode = filledEncoder(column)
  return (value) => (value === null ? 'null' : encode(value))
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
    encode: filledEncoder(column),
  }))
  const encodeAll = (row: readonly Value[]): string => {
    let json = ''
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      const value = row[cell.index]!
      json += cell.lead + (value === null ? 'null' : cell.encode(value))
    }
    return json
  }
  const encodeSelected = (row: readonly Value[], fields: ReadonlySet<string>): string => {
    const parts: string[] = []
    for (let at = 0; at < cells.length; at++) {
      const cell = cells[at]!
      if (!fields.has(cell.name)) continue
      const value = row[cell.index]!
      parts.push(`"${cell.name}":${value === null ? 'null' : cell.encode(value)}`)
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
