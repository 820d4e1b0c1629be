/** The operations that a declaration adds to a collection, and their mistakes. Pure. */
import { missingField } from '../../kernel/closest.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { findBodySizeMistakes } from './media.ts'
import { readSoftDelete, type SoftDeleteOptions, type SoftDeletion } from './soft-deletion.ts'

/**
 * The options of `resource(name, {…})` that add operations, or close them to agents.
 * `Text`: the names of the fields whose values are texts.
 */
export interface CollectionOptions<Text extends string> {
  /**
   * Adds `POST …/batch`, which creates up to 100 rows in one transaction: all or none, or with
   * `atomic: false` each with its own status.
   */
  readonly batch?: boolean
  /**
   * Exports the whole list, with its filters and sorts, as `application/x-ndjson` or `text/csv`, to
   * callers that accept one of them.
   */
  readonly export?: boolean
  /**
   * Stores deleted rows with `deleted_at` until a purge: `true`, or `{ scope, purgeAfterDays }`.
   * They are 404 and absent from lists; `?deleted=true` lists them and `POST …/restore` restores
   * them, for callers with the scope.
   */
  readonly softDelete?: boolean | SoftDeleteOptions
  /**
   * The texts in which `?q=` finds words, by their beginning: `['name', 'email']`. The engine
   * maintains an index of their words.
   */
  readonly search?: readonly Text[]
  /** The largest body of its endpoints in bytes, up to 16 MiB. Default: 1 MiB. */
  readonly maxBodyBytes?: number
  /** `false`: agents do not reach the resource by the Model Context Protocol. Default: true. */
  readonly mcp?: boolean
}

/** The added operations of a resource. */
export interface CollectionFeatures {
  /** Whether `POST …/batch` creates rows. */
  readonly batch: boolean
  /** Whether the list is exported whole. */
  readonly isExported: boolean
  /** The fields in which `q` finds words; empty: no search. */
  readonly search: readonly string[]
  readonly softDeletion: SoftDeletion | undefined
  /** The largest body of its endpoints; undefined: 1 MiB (§15.10). */
  readonly maxBodyBytes: number | undefined
  /** Whether agents reach it (§16.11). */
  readonly mcp: boolean
}

/** Reads the options. Throws `DeclarationError`. */
export const readCollectionOptions = (
  {
    batch = false,
    export: isExported = false,
    search = [],
    softDelete,
    maxBodyBytes,
    mcp = true,
  }: CollectionOptions<string>,
  deletionScope: string | false,
): CollectionFeatures => ({
  batch,
  maxBodyBytes,
  mcp,
  isExported,
  search,
  softDeletion: readSoftDelete(softDelete, deletionScope),
})

/** The parts of a resource that its added operations depend on. */
interface FeatureTarget extends CollectionFeatures {
  readonly access: { readonly create: string | false } | false
  readonly fields: Readonly<Record<string, FieldSpec>>
  readonly filter: readonly string[]
}

/** Returns a sentence for the developer per mistake. */
export function findCollectionMistakes(target: FeatureTarget): string[] {
  const { batch, isExported, access } = target
  const mistakes = [...searchMistakes(target), ...findBodySizeMistakes(target.maxBodyBytes)]
  if (typeof batch !== 'boolean') mistakes.push('batch is true or false')
  if (typeof isExported !== 'boolean') mistakes.push('export is true or false')
  if (typeof target.mcp !== 'boolean') mistakes.push('mcp is true or false')
  if (batch && access && !access.create)
    mistakes.push('batch: access.create is false, so no row is created')
  return mistakes
}

function searchMistakes({ search, fields, filter }: FeatureTarget): string[] {
  if (!Array.isArray(search)) return ["search is an array of field names: ['name']"]
  const mistakes = search.flatMap((name: string, at) => {
    const spec = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!spec) return [`search: ${missingField(name, fields)}`]
    if (spec.isSecret) return [`search: ${name} is secret, and logs have URLs`]
    if (spec.computed && spec.computed !== 'stored') {
      return [`search: ${name} is computed when a row is read`]
    }
    if (!fieldKindOf(spec).isText) return [`search: ${name} is not a text`]
    return search.indexOf(name) < at ? [`search: ${name} occurs twice`] : []
  })
  const isHidden = search.length > 0 && filter.includes('q')
  return isHidden ? [...mistakes, 'search: a filter of the name q would hide the words'] : mistakes
}
