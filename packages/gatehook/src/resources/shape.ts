/**
 * A resource as one version shows it: rows to JSON text, bodies to rows. In the newest version a
 * row goes from the table's array straight to text; in an older one it goes down the chain
 * first. Pure.
 */
import type { View } from '../lists/collection.ts'
import { cellEncoder, cellView, encodeCell } from '../lists/encode.ts'
import type { Value } from '../storage/database.ts'
import { type ChangeChain, chainChanges, fieldsInVersion } from '../versions/change.ts'
import type { FieldSpec } from './fields.ts'
import type { AnyRow, Definition } from './resource.ts'
import type { Specs } from './schema.ts'
import { listColumn } from './table.ts'
import { createValidators, defaultsOf, fromWire, type Validators } from './validate.ts'

export interface Shape {
  readonly version: string
  readonly specs: Specs
  readonly chain: ChangeChain
  readonly validators: Validators
  readonly view: View
  readonly defaults: AnyRow
  /** JSON text of a row as handlers hold it (the newest shape). */
  encode(row: AnyRow): string
}

/** `others`: every resource of the service, for links that name their fields. */
export function createShape(
  definition: Definition,
  versions: readonly string[],
  version: string,
  others: readonly Definition[] = [definition],
): Shape {
  const steps = chainChanges(definition.changes, versions, version)
  const specs = fieldsInVersion(
    definition.fields,
    definition.changes as Parameters<typeof fieldsInVersion<FieldSpec>>[1],
    versions,
    version,
  )
  const links = linker(definition, version, (name) => {
    const other = others.find((one) => one.name === name)
    return other ? chainChanges(other.changes, versions, version).renamed : {}
  })
  const encode = encoder(specs)
  return {
    version,
    specs,
    chain: steps,
    validators: createValidators(specs),
    view: steps.isEmpty
      ? newestView(definition, links)
      : olderView(definition, specs, steps, links),
    defaults: defaultsOf(specs),
    encode: (row) => encode(steps.down(row)),
  }
}

/** JSON text of an object in a given shape, members in the declared order. */
function encoder(specs: Specs): (row: AnyRow) => string {
  const cells = Object.entries(specs).map(([name, spec]) => ({
    name,
    type: listColumn(name, spec).type,
  }))
  return (row) => {
    const members = cells.map(
      ({ name, type }) => `"${name}":${encodeCell(type, (row[name] ?? null) as Value)}`,
    )
    return `{${members.join(',')}}`
  }
}

/** JSON text of `_links`. */
type Linker = (row: AnyRow) => string

function newestView(definition: Definition, links: Linker): View {
  const columns = Object.entries(definition.fields).map(([name, spec]) => listColumn(name, spec))
  const decode = decoder(definition)
  return cellView(columns, (row) => links(decode(row)))
}

/**
 * Cells that no change touched go straight to text, as in the newest version; for the others the
 * row is made once and sinks down the chain (bench row 17).
 */
function olderView(definition: Definition, specs: Specs, steps: ChangeChain, links: Linker): View {
  const decode = decoder(definition)
  const newest = Object.keys(definition.fields)
  const cells = Object.entries(specs).map(([name, spec], n) => ({
    name,
    lead: `${n === 0 ? '' : ','}"${name}":`,
    at: spec === definition.fields[name] ? newest.indexOf(name) : -1,
    encode: cellEncoder(listColumn(name, spec).type),
  }))
  const whole = (row: readonly Value[], old: AnyRow): string => {
    let out = ''
    for (const { name, lead, at, encode } of cells) {
      out += lead + encode(at < 0 ? ((old[name] ?? null) as Value) : row[at]!)
    }
    return out
  }
  const some = (row: readonly Value[], old: AnyRow, fields: ReadonlySet<string>): string =>
    cells
      .filter(({ name }) => fields.has(name))
      .map(({ name, at, encode }) => {
        return `"${name}":${encode(at < 0 ? ((old[name] ?? null) as Value) : row[at]!)}`
      })
      .join(',')
  return {
    fields: Object.keys(specs),
    renamed: steps.renamed,
    item(row, options) {
      const old = steps.downInPlace(decode(row))
      const body = options.fields ? some(row, old, options.fields) : whole(row, old)
      if (!options.links) return `{${body}}`
      return `{${body}${body === '' ? '' : ','}"_links":${links(decode(row))}}`
    },
  }
}

/**
 * `_links` of a row: paths under its version (§7.2). A link to a list filters by the names the
 * version has for them: `renamedIn` gives old → newest by resource.
 */
function linker(
  definition: Definition,
  version: string,
  renamedIn: (resource: string) => Readonly<Record<string, string>>,
): Linker {
  const inVersion = (path: string): string => {
    const [, resource, query] = /^\/(\w+)\?(.*)$/.exec(path) ?? []
    if (resource === undefined) return path
    const renamed = Object.entries(renamedIn(resource))
    const parts = query!.split('&').map((part) => {
      const name = /^\w*/.exec(part)![0]
      const old = renamed.find(([, newest]) => newest === name)?.[0]
      return old === undefined ? part : old + part.slice(name.length)
    })
    return `/${resource}?${parts.join('&')}`
  }
  return (row) => {
    const own = definition.links?.(row) ?? { self: `/${definition.name}/${row.id}` }
    const links = Object.entries(own).map(([rel, path]) => [
      rel,
      `/api/${version}${inVersion(path)}`,
    ])
    return JSON.stringify(Object.fromEntries(links))
  }
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
  if (recorded.version === wanted.version || (recorded.chain.isEmpty && wanted.chain.isEmpty)) {
    return objectText
  }
  const row = fromWire(recorded.specs, JSON.parse(objectText) as AnyRow)
  return wanted.encode(recorded.chain.up(row))
}
