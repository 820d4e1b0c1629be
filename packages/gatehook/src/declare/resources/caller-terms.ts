/**
 * A change in the terms of the caller's version: its values go up to the newest shape, and the
 * pointers of its failures name the fields of that version (§8.8).
 */

import { Failure, type FieldError } from '../../kernel/failure.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import { OwnFailure } from './failure.ts'
import type { AnyRow } from './resource.ts'
import type { WrittenRow } from './rows.ts'
import type { VersionShape } from './shape.ts'
import { lockedMessage, replaceErrors, validationFailure } from './validate.ts'

/** Validates a body that creates a row, and returns its values in the newest shape. */
export function readNewRow(entry: CatalogEntry, shape: VersionShape, body: unknown): AnyRow {
  const values = shape.validators.create(body)
  if (shape.chain.isEmpty) return values
  const converted = validateConverted(entry, shape, shape.chain.up(values))
  requireRights(shape, converted, entry.rows.newest.defaults)
  return converted
}

/**
 * Returns whether values change a field. A `hidden` one counts as changed: a difference between its
 * value and another would reveal it.
 */
export const isChanged = (
  name: string,
  values: AnyRow,
  before: AnyRow,
  hidden?: ReadonlySet<string>,
): boolean => name in values && (hidden?.has(name) || !isSameValue(values[name], before[name]))

/**
 * Returns the changed values with the fields that the caller does not see, if the patch of an older
 * version has them: their values can be those of the row.
 */
export function withHiddenFields(
  { chain, hidden, hiddenColumns }: VersionShape,
  row: AnyRow,
  patch: AnyRow,
  changed: AnyRow,
): AnyRow {
  const sent = [...hiddenColumns].filter((name) =>
    chain.oldFieldsOf(name).some((old) => hidden.has(old) && Object.hasOwn(patch, old)),
  )
  return { ...Object.fromEntries(sent.map((name) => [name, row[name]])), ...changed }
}

/**
 * Throws 422 `read_only` for fields that the caller cannot write: the body of an older version can
 * change them by another name.
 */
export function requireRights(
  shape: VersionShape,
  values: AnyRow,
  before: AnyRow,
  hidden?: ReadonlySet<string>,
): void {
  if (shape.chain.isEmpty) return
  const errors = [...shape.locked]
    .filter(([name]) => isChanged(name, values, before, hidden))
    .map(([name, scope]) => ({
      pointer: `/${name}`,
      code: 'read_only' as const,
      message: lockedMessage(scope),
    }))
  if (errors.length > 0) throw translateFailure(shape, validationFailure(errors))
}

/** Returns the JSON text of a row: that of its event, if the caller sees the same. */
export const responseText = (shape: VersionShape, { text, row }: WrittenRow): string =>
  shape.chain.isEmpty && !shape.isWidened ? text : shape.encode(row)

/** Validates values that an older version converted up. Errors name the fields of that version. */
export function validateConverted(
  entry: CatalogEntry,
  shape: VersionShape,
  values: AnyRow,
): AnyRow {
  // A field that clients of the older version cannot send is undefined: it was not sent.
  const converted = Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  )
  const { values: valid, errors } = entry.rows.newest.validators.converted(converted)
  if (errors.length > 0) throw translateFailure(shape, validationFailure(errors))
  return valid
}

/** Runs a change. Pointers and details of its failure are those of the caller's version (§8.8). */
export async function inCallersTerms<T>(
  shape: Pick<VersionShape, 'chain'>,
  change: () => T | Promise<T>,
): Promise<T> {
  try {
    return await change()
  } catch (error) {
    const failure = error instanceof OwnFailure ? error.in(shape.chain.version) : error
    const isTranslated = !shape.chain.isEmpty && failure instanceof Failure && failure.errors
    throw isTranslated ? translateFailure(shape, failure) : failure
  }
}

/** Returns the pointer with the older name of its field. */
function pointerIn({ chain }: Pick<VersionShape, 'chain'>, pointer: string): string {
  const [field, ...inside] = pointer.slice(1).split('/')
  return ['', chain.oldFieldOf(field!), ...inside].join('/')
}

/**
 * Returns a failure whose pointers name the fields of the older version. Two fields that replace
 * one of it have one mistake.
 */
export function translateFailure(shape: Pick<VersionShape, 'chain'>, failure: Failure): Failure {
  const errors = new Map<string, FieldError>()
  for (const error of failure.errors ?? []) {
    const old = error.pointer ? { ...error, pointer: pointerIn(shape, error.pointer) } : error
    const key = `${old.pointer} ${old.code} ${old.message}`
    if (!errors.has(key)) errors.set(key, old)
  }
  return replaceErrors(failure, [...errors.values()])
}
