/**
 * The rows that the handler of a route returns, as the caller of a version reads them (§8.8). One
 * request has one instance; it recognizes the rows that the engine has read or written.
 */
import type { Principal } from '../../kernel/principal.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'

export interface RowViews {
  /** The caller's version. */
  readonly version: string
  /** Registers a row that the engine returns to the handler, and returns it. */
  register(entry: CatalogEntry, row: AnyRow): AnyRow
  /** Returns the resource of a row that the engine has read or written in this request. */
  resourceOf(value: unknown): string | undefined
  /** Returns the row as JSON has it, in the caller's version. */
  show(row: AnyRow): AnyRow
  /** Returns the JSON text of a row, or of a row that `show` returned. Throws for any other. */
  encode(definition: ResourceDefinition, row: unknown): string
}

/** @param principal the caller, whose scopes decide which fields a row has */
export function createRowViews(
  catalog: Catalog,
  version: string,
  principal: Pick<Principal, 'scopes'> | undefined,
): RowViews {
  const entryByRow = new WeakMap<object, CatalogEntry>()
  const viewByRow = new WeakMap<object, { readonly name: string; readonly text: string }>()
  const encode = (entry: CatalogEntry, row: AnyRow) =>
    entry.shapes.get(version)!.as(principal).encode(row)
  return {
    version,
    register(entry, row) {
      entryByRow.set(row, entry)
      return row
    },
    resourceOf: (value) => entryByRow.get(value as object)?.definition.name,
    show(row) {
      const entry = entryByRow.get(row)
      if (!entry) throw new Error('show() takes a row that get, lock, create or update returned')
      const text = encode(entry, row)
      const view = Object.freeze(JSON.parse(text) as AnyRow)
      viewByRow.set(view, { name: entry.definition.name, text })
      return view
    },
    encode({ name, fields }, row) {
      if (typeof row !== 'object' || row === null) throw new Error(`is not a row of ${name}`)
      const view = viewByRow.get(row)
      const source = view?.name ?? entryByRow.get(row)?.definition.name ?? name
      if (source !== name) throw new Error(`is a row of ${source}, not of ${name}`)
      if (view) return view.text
      const missing = Object.keys(fields).find((field) => (row as AnyRow)[field] === undefined)
      if (missing !== undefined) throw new Error(`is not a row of ${name}: ${missing} is missing`)
      return encode(catalog.entries.get(name)!, row as AnyRow)
    },
  }
}
