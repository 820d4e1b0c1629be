/**
 * Soft deletion: a deleted row keeps its place in the table with the instant of its deletion. Lists
 * and references do not see it until it is restored; a purge deletes it. Pure.
 */
import { holdsScope, missingScope } from '../../identity/access/scopes.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { type EngineWrite, Field, type FieldSpec } from '../../protocol/fields/fields.ts'
import { parameterFailure, type Query } from '../../protocol/http/query.ts'
import type { Filter } from '../../protocol/lists/filter.ts'

/** The field that the engine adds to a resource with soft deletion. */
export const DELETED_FIELD = 'deleted_at'
/** The rows of lists and of references: those that are not marked as deleted. */
export const LIVE_ROWS = `${DELETED_FIELD} IS NULL`
/**
 * The beginning of the words of a deleted row, in whose order a search for others does not pass
 * them. No word of a text begins so.
 */
export const DELETED_WORD = '-'
/** The parameter of a list that selects deleted rows. */
export const DELETED_PARAMETER = 'deleted'

const DAY_MS = 86_400_000
const PURGE_DAYS = 30
const PURGE_DAYS_MAX = 3_650

export interface SoftDeleteOptions {
  /** Lists deleted rows and restores them. Default: the scope of `access.delete`. */
  readonly scope?: string
  /** Days after which a deleted row is purged. Default: 30. */
  readonly purgeAfterDays?: number
}

/** The soft deletion of a resource. */
export interface SoftDeletion {
  /** Lists deleted rows and restores them; undefined if neither it nor `delete` is declared. */
  readonly scope: string | undefined
  readonly purgeAfterMs: number
}

const deletedAt = new Field<number | null, EngineWrite, string | null>({
  kind: 'time',
  write: 'never',
  nullable: true,
  default: null,
  stamp: 'deleted',
})

/** The type of the added field. */
export interface DeletedFields {
  readonly deleted_at: typeof deletedAt
}

/** Reads the option. Throws `DeclarationError`. */
export function readSoftDelete(
  option: boolean | SoftDeleteOptions | undefined,
  deletionScope: string | false,
): SoftDeletion | undefined {
  if (option === undefined || option === false) return undefined
  if (option !== true && (typeof option !== 'object' || option === null)) {
    throw new DeclarationError('softDelete is true, or { scope, purgeAfterDays }')
  }
  const { scope, purgeAfterDays = PURGE_DAYS } = option === true ? {} : option
  if (scope !== undefined && typeof scope !== 'string') {
    throw new DeclarationError('softDelete: scope is a text')
  }
  const isDays = Number.isInteger(purgeAfterDays) && purgeAfterDays >= 1
  if (!isDays || purgeAfterDays > PURGE_DAYS_MAX) {
    throw new DeclarationError(`softDelete: purgeAfterDays is from 1 to ${PURGE_DAYS_MAX}`)
  }
  return { scope: scope ?? (deletionScope || undefined), purgeAfterMs: purgeAfterDays * DAY_MS }
}

/** Returns the fields with the one that soft deletion adds. Throws `DeclarationError`. */
export function addDeletedField(
  fields: Record<string, FieldSpec>,
  softDeletion: SoftDeletion | undefined,
): Record<string, FieldSpec> {
  if (!softDeletion) return fields
  if (Object.hasOwn(fields, DELETED_FIELD)) {
    throw new DeclarationError(`softDelete adds the field ${DELETED_FIELD}; declare no such field`)
  }
  return { ...fields, [DELETED_FIELD]: deletedAt.spec }
}

/** Selects deleted rows, along the index of the field. */
export const deletedFilter: Filter = {
  column: DELETED_FIELD,
  operator: 'gte',
  values: [0],
  parameter: DELETED_PARAMETER,
}

/**
 * Returns whether a list request selects deleted rows. Throws 403 `insufficient_scope` without the
 * scope that restores them.
 */
export function listsDeletedRows(
  { softDeletion }: { readonly softDeletion: SoftDeletion | undefined },
  { query, principal }: { readonly query: Query; readonly principal: Principal | undefined },
): boolean {
  const text = softDeletion && query.get(DELETED_PARAMETER)
  if (text === undefined || text === 'false') return false
  if (text !== 'true') {
    throw parameterFailure('invalid_parameter', DELETED_PARAMETER, 'must be true or false')
  }
  const scope = softDeletion!.scope!
  if (!principal) throw new Failure('unauthorized', 'Deleted rows require a credential.')
  if (!holdsScope(principal, scope)) throw missingScope(scope)
  return true
}

/** The parts of a resource that soft deletion concerns. */
interface SoftDeletionTarget {
  readonly name: string
  readonly softDeletion: SoftDeletion | undefined
  readonly access: unknown
  readonly fields: Readonly<Record<string, FieldSpec>>
  readonly filter: readonly string[]
  readonly actions: readonly { readonly name: string }[]
  readonly signsIn: unknown
}

/** Returns a sentence for the developer per mistake. */
export function findSoftDeletionMistakes(
  { name, softDeletion, filter, actions, signsIn }: SoftDeletionTarget,
  resources: readonly SoftDeletionTarget[],
): string[] {
  if (!softDeletion) return []
  const mistakes: string[] = []
  if (softDeletion.scope === undefined) {
    mistakes.push('softDelete: access.delete is false; name the scope that restores rows')
  }
  if (signsIn) mistakes.push('softDelete: a row that signs in loses its credentials for good')
  if (actions.some((action) => action.name === 'restore')) {
    mistakes.push('softDelete adds restore; give the action restore another name')
  }
  if (filter.includes(DELETED_PARAMETER)) {
    mistakes.push(`softDelete: the filter ${DELETED_PARAMETER} would hide a parameter of the list`)
  }
  for (const { name: referrer, access, fields, softDeletion: other } of resources) {
    for (const [field, { target, onDelete }] of Object.entries(fields)) {
      if (target !== name || onDelete !== 'cascade' || other) continue
      mistakes.push(
        `softDelete: ${referrer}.${field} cascades, and rows of ${referrer} would be deleted for ` +
          `good; ${access ? `declare softDelete in ${referrer}, or ` : ''}onDelete('restrict')`,
      )
    }
  }
  return mistakes
}
