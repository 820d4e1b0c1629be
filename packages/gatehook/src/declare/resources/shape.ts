/**
 * A resource in one version: rows to JSON text, bodies to rows. In the newest version the cells of
 * the table become text directly; in an older one the row goes down the changes first. Pure.
 */

import type { Principal } from '../../kernel/principal.ts'
import type { Value } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { formOf, isSameValue, toJson } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { View } from '../../protocol/lists/collection.ts'
import { cellEncoder, cellView } from '../../protocol/lists/encode.ts'
import { type ChangeChain, chainChanges, fieldsInVersion } from '../versions/change.ts'
import { boundaryValues, cornerRow } from './boundary-values.ts'
import { columnFields, rowComputer } from './computed.ts'
import { derivedFields } from './derived.ts'
import {
  type HeldScopes,
  heldScopesOf,
  hiddenFields,
  limitingScopes,
  lockedFields,
  NO_SCOPES,
} from './field-rights.ts'
import { type RelatedName, relatedNames } from './related-fields.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import { listColumn } from './table.ts'
import { createValidators, defaultsOf, type Validators } from './validate.ts'

/**
 * A resource in a version, as events have it, or as the caller of `as` has it. So code that knows
 * no caller returns no limited field, and no text that is too large for events.
 */
export interface VersionShape {
  readonly version: string
  /** The fields that responses lack. */
  readonly hidden: ReadonlySet<string>
  /** The fields of the newest version that the caller does not see. */
  readonly hiddenColumns: ReadonlySet<string>
  /** The scope that the caller lacks to write each field of the newest version. */
  readonly locked: ReadonlyMap<string, string>
  /** Whether `view` and `encode` have a field that the shape without a caller lacks. */
  readonly isWidened: boolean
  readonly specs: FieldSpecs
  readonly chain: ChangeChain
  readonly validators: Validators
  readonly view: View
  /** The fields of other rows by which lists are filtered and sorted. */
  readonly related: readonly RelatedName[]
  readonly defaults: AnyRow
  /** Returns the JSON text of a row of the newest shape. */
  encode(row: AnyRow): string
  /**
   * Returns the shape for a caller, also an anonymous one. A shape is created once for each set of
   * scopes.
   */
  as(principal: Pick<Principal, 'scopes'> | undefined): VersionShape
}

/** @param others every resource of the service, for links that filter by their fields */
export function createShape(
  definition: ResourceDefinition,
  versions: readonly string[],
  version: string,
  others: readonly ResourceDefinition[] = [definition],
): VersionShape {
  const chain = chainChanges(definition.changes, versions, version)
  const declared = fieldsInVersion(
    definition.fields,
    definition.changes as Parameters<typeof fieldsInVersion<FieldSpec>>[1],
    versions,
    version,
  )
  const specs = markAbsent(definition, chain, declared)
  const encodeLinks = linkEncoder(definition, version, (name) => {
    const other = others.find((resource) => resource.name === name)
    return other ? chainChanges(other.changes, versions, version).renamed : {}
  })
  const related = relatedNames(definition, others, versions, version)
  const columnByName = Object.fromEntries(related.map(({ name, column }) => [name, column]))
  const scopes = limitingScopes(definition)
  const hasComputedReads = Object.values(specs).some(({ computed }) => computed === 'read')
  const shapes = new Map<string, VersionShape>()
  const as: VersionShape['as'] = (principal) => {
    const held = scopes.length === 0 ? NO_SCOPES : heldScopesOf(scopes, principal)
    const key = [...held].join(' ')
    let shape = shapes.get(key)
    if (!shape) shapes.set(key, (shape = createFor(held)))
    return shape
  }
  const createFor = (held?: HeldScopes): VersionShape => {
    const hidden = hiddenFields(specs, held)
    const encode = rowEncoder(specs, hidden)
    const view =
      chain.isEmpty && !hasComputedReads
        ? newestView(definition, encodeLinks, hidden)
        : olderView(definition, { specs, chain, hidden }, encodeLinks)
    return {
      version,
      specs,
      chain,
      hidden,
      hiddenColumns: hiddenFields(definition.fields, held),
      locked: lockedFields(definition.fields, held ?? NO_SCOPES),
      isWidened: hidden.size < hiddenFields(specs, undefined).size,
      validators: createValidators(specs, lockedFields(specs, held ?? NO_SCOPES)),
      view: related.length === 0 ? view : { ...view, related: columnByName },
      related,
      // A derived field has a value once the row is stored.
      defaults: { ...nullsOf(derivedFields(specs)), ...defaultsOf(specs) },
      encode: (row) => encode(chain.down(row)),
      as,
    }
  }
  return createFor()
}

/**
 * Marks the fields of an older version that follow from a field which events lack, so that events
 * of that version lack them too.
 */
function markAbsent(
  { fields }: ResourceDefinition,
  chain: ChangeChain,
  specs: FieldSpecs,
): FieldSpecs {
  const absent = chain.isEmpty ? [] : [...hiddenFields(fields, undefined)]
  if (absent.length === 0) return specs
  const base = cornerRow(fields, -1)
  const older = downOrNothing(chain, base)
  const others = absent.flatMap((name) =>
    boundaryValues(fields[name]!).map((value) => downOrNothing(chain, { ...base, [name]: value })),
  )
  const isAbsent = (name: string) =>
    specs[name] !== fields[name] &&
    others.some((other) => older && other && !isSameValue(older[name], other[name]))
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      isAbsent(name) ? { ...spec, isAbsentFromEvents: true } : spec,
    ]),
  )
}

/** The check of a declaration reports a conversion that throws. */
function downOrNothing(chain: ChangeChain, row: AnyRow): AnyRow | undefined {
  try {
    return chain.down(row)
  } catch {
    return undefined
  }
}

const nullsOf = (fields: readonly (readonly [name: string, spec: FieldSpec])[]): AnyRow =>
  Object.fromEntries(fields.map(([name]) => [name, null]))

/** Returns the encoder of a row's value, which can differ from the cell. */
function valueEncoder(name: string, spec: FieldSpec): (value: Value) => string {
  // A computed value that is no value of its kind is never invalid JSON.
  if (!formOf(spec).cell && spec.computed !== 'read') return cellEncoder(listColumn(name, spec))
  return (value) => JSON.stringify(toJson(spec, value)) ?? 'null'
}

/** Encodes a row as JSON text, with its members in the declared order. */
function rowEncoder(specs: FieldSpecs, hidden: ReadonlySet<string>): (row: AnyRow) => string {
  const columns = Object.entries(specs)
    .filter(([name]) => !hidden.has(name))
    .map(([name, spec]) => ({ name, encode: valueEncoder(name, spec) }))
  return (row) => {
    const members = columns.map(({ name, encode }) => `"${name}":${encode(row[name] ?? null)}`)
    return `{${members.join(',')}}`
  }
}

const anyJsonOf = (specs: FieldSpecs): ReadonlySet<string> =>
  new Set(Object.keys(specs).filter((name) => fieldKindOf(specs[name]!).isAnyJson))

/** Returns the JSON text of `_links`. */
type LinkEncoder = (row: AnyRow) => string

function newestView(
  definition: ResourceDefinition,
  encodeLinks: LinkEncoder,
  hidden: ReadonlySet<string>,
): View {
  const columns = columnFields(definition.fields).map(([name, spec]) => listColumn(name, spec))
  const decode = rowDecoder(definition)
  return {
    ...cellView(columns, (row) => encodeLinks(decode(row)), hidden),
    anyJson: anyJsonOf(definition.fields),
  }
}

/**
 * Encodes unchanged cells directly, as in the newest version. For the other cells it decodes the
 * row once and converts it in place (`bench/rows/17-old-version.ts`).
 */
function olderView(
  definition: ResourceDefinition,
  { specs, chain, hidden }: Pick<VersionShape, 'specs' | 'chain' | 'hidden'>,
  encodeLinks: LinkEncoder,
): View {
  const decode = rowDecoder(definition)
  const columnNames = columnFields(definition.fields).map(([name]) => name)
  const visible = Object.entries(specs).filter(([name]) => !hidden.has(name))
  const members = visible.map(([name, spec], n) => {
    /** Index of an unchanged cell, else -1. */
    const index = spec === definition.fields[name] ? columnNames.indexOf(name) : -1
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
    fields: visible.map(([name]) => name),
    anyJson: anyJsonOf(specs),
    renamed: Object.fromEntries(Object.entries(chain.renamed).filter(([old]) => !hidden.has(old))),
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

/** Returns a decoder of table cells, in declared order, to rows of the newest shape. */
export function rowDecoder(definition: ResourceDefinition): (cells: readonly Value[]) => AnyRow {
  const names = columnFields(definition.fields).map(([name]) => name)
  const compute = rowComputer(definition, false)
  const hasComputedReads = names.length < Object.keys(definition.fields).length
  const converted = columnFields(definition.fields).flatMap(([name, spec]) => {
    const { cell } = formOf(spec)
    return cell ? [[name, cell.from] as const] : []
  })
  return (cells) => {
    const row: AnyRow = {}
    for (let index = 0; index < names.length; index++) row[names[index]!] = cells[index]!
    for (const [name, from] of converted) if (row[name] !== null) row[name] = from(row[name])
    return hasComputedReads ? compute(row) : row
  }
}
