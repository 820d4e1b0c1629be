/**
 * A resource in one version: rows to JSON text, bodies to rows. In the newest version the cells of
 * the table become text directly; in an older one the row goes down the changes first. Pure.
 */

import type { FieldSpec } from '../fields/fields.ts'
import { formOf, toJson } from '../fields/forms.ts'
import type { FieldSpecs } from '../fields/schema.ts'
import type { View } from '../lists/collection.ts'
import { cellEncoder, cellView } from '../lists/encode.ts'
import type { Value } from '../storage/database.ts'
import { type ChangeChain, chainChanges, fieldsInVersion } from '../versions/change.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { listColumn } from './table.ts'
import { createValidators, defaultsOf, parseWire, type Validators } from './validate.ts'

export interface VersionShape {
  readonly version: string
  readonly specs: FieldSpecs
  readonly chain: ChangeChain
  readonly validators: Validators
  readonly view: View
  readonly defaults: AnyRow
  /** Returns the JSON text of a row of the newest shape. */
  encode(row: AnyRow): string
}

/** @param others every resource of the service, for links that filter by their fields */
export function createShape(
  definition: ResourceDefinition,
  versions: readonly string[],
  version: string,
  others: readonly ResourceDefinition[] = [definition],
): VersionShape {
  const chain = chainChanges(definition.changes, versions, version)
  const specs = fieldsInVersion(
    definition.fields,
    definition.changes as Parameters<typeof fieldsInVersion<FieldSpec>>[1],
    versions,
    version,
  )
  const encodeLinks = linkEncoder(definition, version, (name) => {
    const other = others.find((resource) => resource.name === name)
    return other ? chainChanges(other.changes, versions, version).renamed : {}
  })
  const encode = rowEncoder(specs)
  return {
    version,
    specs,
    chain,
    validators: createValidators(specs),
    view: chain.isEmpty
      ? newestView(definition, encodeLinks)
      : olderView(definition, specs, chain, encodeLinks),
    defaults: defaultsOf(specs),
    encode: (row) => encode(chain.down(row)),
  }
}

/** Returns the encoder of a row's value, which can differ from the cell. */
function valueEncoder(name: string, spec: FieldSpec): (value: Value) => string {
  if (!formOf(spec).cell) return cellEncoder(listColumn(name, spec))
  return (value) => JSON.stringify(toJson(spec, value))
}

/** Encodes a row as JSON text, with its members in the declared order. */
function rowEncoder(specs: FieldSpecs): (row: AnyRow) => string {
  const columns = Object.entries(specs).map(([name, spec]) => ({
    name,
    encode: valueEncoder(name, spec),
  }))
  return (row) => {
    const members = columns.map(({ name, encode }) => `"${name}":${encode(row[name] ?? null)}`)
    return `{${members.join(',')}}`
  }
}

/** Returns the JSON text of `_links`. */
type LinkEncoder = (row: AnyRow) => string

function newestView(definition: ResourceDefinition, encodeLinks: LinkEncoder): View {
  const columns = Object.entries(definition.fields).map(([name, spec]) => listColumn(name, spec))
  const decode = rowDecoder(definition)
  return cellView(columns, (row) => encodeLinks(decode(row)))
}

/**
 * Encodes unchanged cells directly, as in the newest version. For the other cells it decodes the
 * row once and converts it in place (bench row 17).
 */
function olderView(
  definition: ResourceDefinition,
  specs: FieldSpecs,
  chain: ChangeChain,
  encodeLinks: LinkEncoder,
): View {
  const decode = rowDecoder(definition)
  const newestNames = Object.keys(definition.fields)
  const members = Object.entries(specs).map(([name, spec], n) => {
    /** Index of an unchanged cell, else -1. */
    const index = spec === definition.fields[name] ? newestNames.indexOf(name) : -1
    const encode = index < 0 ? valueEncoder(name, spec) : cellEncoder(listColumn(name, spec))
    return { name, lead: `${n === 0 ? '' : ','}"${name}":`, index, encode }
  })
  const encodeAll = (row: readonly Value[], old: AnyRow): string => {
    let text = ''
    for (const { name, lead, index, encode } of members) {
      text += lead + encode(index < 0 ? ((old[name] ?? null) as Value) : row[index]!)
    }
    return text
  }
  const encodeSome = (row: readonly Value[], old: AnyRow, fields: ReadonlySet<string>): string =>
    members
      .filter(({ name }) => fields.has(name))
      .map(({ name, index, encode }) => {
        return `"${name}":${encode(index < 0 ? ((old[name] ?? null) as Value) : row[index]!)}`
      })
      .join(',')
  return {
    fields: Object.keys(specs),
    renamed: chain.renamed,
    item(row, options) {
      const old = chain.downInPlace(decode(row))
      const body = options.fields ? encodeSome(row, old, options.fields) : encodeAll(row, old)
      if (!options.links) return `{${body}}`
      return `{${body}${body === '' ? '' : ','}"_links":${encodeLinks(decode(row))}}`
    },
  }
}

/**
 * Encodes the links of a row as paths of its version (§7.2). A link to a list filters by the names
 * of that version.
 *
 * @param renamedIn returns old name → newest name for a resource
 */
function linkEncoder(
  definition: ResourceDefinition,
  version: string,
  renamedIn: (resource: string) => Readonly<Record<string, string>>,
): LinkEncoder {
  const pathInVersion = (path: string): string => {
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
    const paths = definition.links?.(row) ?? { self: `/${definition.name}/${row.id}` }
    const links = Object.entries(paths).map(([rel, path]) => [
      rel,
      `/api/${version}${pathInVersion(path)}`,
    ])
    return JSON.stringify(Object.fromEntries(links))
  }
}

/** Returns a rowDecoder of table cells, in declared order, to rows of the newest shape. */
export function rowDecoder(definition: ResourceDefinition): (cells: readonly Value[]) => AnyRow {
  const names = Object.keys(definition.fields)
  const converted = Object.entries(definition.fields).flatMap(([name, spec]) => {
    const { cell } = formOf(spec)
    return cell ? [[name, cell.from] as const] : []
  })
  return (cells) => {
    const row: AnyRow = {}
    for (let index = 0; index < names.length; index++) row[names[index]!] = cells[index]!
    for (const [name, from] of converted) if (row[name] !== null) row[name] = from(row[name])
    return row
  }
}

/** Converts an event's object from the version that recorded it to another (§9.11). */
export function convertObject(from: VersionShape, to: VersionShape, objectText: string): string {
  if (from.version === to.version || (from.chain.isEmpty && to.chain.isEmpty)) return objectText
  const row = parseWire(from.specs, JSON.parse(objectText) as AnyRow)
  return to.encode(from.chain.up(row))
}
