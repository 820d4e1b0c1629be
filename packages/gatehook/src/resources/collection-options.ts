/** The operations that a declaration adds to a collection, and their mistakes. Pure. */
import { readSoftDelete, type SoftDeleteOptions, type SoftDeletion } from './soft-deletion.ts'

/** The options of `resource(name, {…})` that add operations. */
export interface CollectionOptions {
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
}

/** The added operations of a resource. */
export interface CollectionFeatures {
  /** Whether `POST …/batch` creates rows. */
  readonly batch: boolean
  /** Whether the list is exported whole. */
  readonly isExported: boolean
  readonly softDeletion: SoftDeletion | undefined
}

/** Reads the options. Throws `DeclarationError`. */
export const readCollectionOptions = (
  { batch = false, export: isExported = false, softDelete }: CollectionOptions,
  access: { readonly delete: string | false },
): CollectionFeatures => ({
  batch,
  isExported,
  softDeletion: readSoftDelete(softDelete, access.delete),
})

/** The parts of a resource that its added operations depend on. */
interface FeatureTarget extends CollectionFeatures {
  readonly access: { readonly create: string | false }
}

/** Returns a sentence for the developer per mistake. */
export function findCollectionMistakes({ batch, isExported, access }: FeatureTarget): string[] {
  const mistakes: string[] = []
  if (typeof batch !== 'boolean') mistakes.push('batch is true or false')
  if (typeof isExported !== 'boolean') mistakes.push('export is true or false')
  if (batch && !access.create) mistakes.push('batch: access.create is false, so no row is created')
  return mistakes
}
