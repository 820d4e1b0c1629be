/**
 * A resource as one version shows it: rows to JSON text, bodies to rows. In the newest version a
 * row goes from the table's array straight to text; in an older one it goes down the ladder
 * first. Pure.
 */
import type { View } from '../lists/collection.ts'
import { cellView, encodeCell } from '../lists/encode.ts'
import type { Value } from '../storage/database.ts'
import { type Ladder, ladder, shapeOf } from '../versions/change.ts'
import type { FieldSpec } from './fields.ts'
import type { AnyRow, Definition } from './resource.ts'
import type { Specs } from './schema.ts'
import { listColumn } from './table.ts'
import { createValidators, defaultsOf, fromWire, type Validators } from './validate.ts'

export interface Shape {
  readonly version: string
  readonly specs: Specs
  readonly ladder: Ladder
  readonly validators: Validators
  readonly view: View
  readonly defaults: AnyRow
  /** JSON text of a row as handlers hold it (the newest shape). */
  encode(row: AnyRow): string
}

export function createShape(
  definition: Definition,
  versions: readonly string[],
  version: string,
): Shape {
  const steps = ladder(definition.changes, versions, version)
  const specs = shapeOf(
    definition.fields,
    definition.changes as Parameters<typeof shapeOf<FieldSpec>>[1],
    versions,
    version,
  )
  const encode = encoder(specs)
  const toText = (row: AnyRow) => encode(steps.down(row))
  return {
    version,
    specs,
    ladder: steps,
    validators: createValidators(specs),
    view: steps.level
      ? newestView(definition, version)
      : olderView(definition, version, specs, steps, encode),
    defaults: defaultsOf(specs),
    encode: toText,
  }
}

/** JSON text of an object in a given shape, members in the declared order. */
function encoder(specs: Specs): (row: AnyRow, fields?: ReadonlySet<string>) => string {
  const cells = Object.entries(specs).map(([name, spec]) => ({
    name,
    type: listColumn(name, spec).type,
  }))
  return (row, fields) => {
    let out = ''
    for (const { name, type } of cells) {
      if (fields && !fields.has(name)) continue
      out += `${out === '' ? '' : ','}"${name}":${encodeCell(type, (row[name] ?? null) as Value)}`
    }
    return `{${out}}`
  }
}

function newestView(definition: Definition, version: string): View {
  const columns = Object.entries(definition.fields).map(([name, spec]) => listColumn(name, spec))
  const decode = decoder(definition)
  return cellView(columns, (row) => linksOf(definition, version, decode(row)))
}

function olderView(
  definition: Definition,
  version: string,
  specs: Specs,
  steps: Ladder,
  encode: ReturnType<typeof encoder>,
): View {
  const decode = decoder(definition)
  return {
    fields: Object.keys(specs),
    renamed: steps.renamed,
    item(cells, { fields, links }) {
      const row = decode(cells)
      const body = encode(steps.down(row), fields)
      if (!links) return body
      const lead = body === '{}' ? '{' : `${body.slice(0, -1)},`
      return `${lead}"_links":${linksOf(definition, version, row)}}`
    },
  }
}

/** `_links` of a row: paths under its version (§7.2). */
function linksOf(definition: Definition, version: string, row: AnyRow): string {
  const own = definition.links?.(row) ?? { self: `/${definition.name}/${row.id}` }
  const links = Object.entries(own).map(([rel, path]) => [rel, `/api/${version}${path}`])
  return JSON.stringify(Object.fromEntries(links))
}

/** From a table row (array, in declared order) to the row handlers see. */
export function decoder(definition: Definition): (cells: readonly Value[]) => AnyRow {
  const fields = Object.entries(definition.fields).map(
    ([name, spec]) => [name, spec.kind === 'bool'] as const,
  )
  return (cells) => {
    const row: AnyRow = {}
    for (let at = 0; at < fields.length; at++) {
      const [name, bool] = fields[at]!
      const value = cells[at]!
      row[name] = bool && value !== null ? value === 1 : value
    }
    return row
  }
}

/** The stored form of a row's value. */
export const toCell = (value: unknown): Value =>
  typeof value === 'boolean' ? (value ? 1 : 0) : ((value ?? null) as Value)

/** An event's object from the shape it was recorded in to the shape a version shows (§9.11). */
export function renderThrough(recorded: Shape, wanted: Shape, objectText: string): string {
  if (recorded.version === wanted.version || (recorded.ladder.level && wanted.ladder.level)) {
    return objectText
  }
  const row = fromWire(recorded.specs, JSON.parse(objectText) as AnyRow)
  return wanted.encode(recorded.ladder.up(row))
}
