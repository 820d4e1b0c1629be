/**
 * The fields of a declaration that say who a person is, and the values that replace them when the
 * person is erased (§18.11). Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { boundaryValues } from './boundary-values.ts'
import { rowComputer, storedComputations } from './computed.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'

/** Returns the members with `.personal()`, and the sign-in name. */
export const personalNames = (fields: FieldSpecs, username?: string): string[] =>
  Object.keys(fields).filter((name) => fields[name]!.isPersonal || name === username)

/**
 * Returns the value of an erased field: null, the default, or a placeholder. Each row has another
 * one in a unique field.
 */
function erasedValue(spec: FieldSpec, n: number, isUnique: boolean): unknown {
  if (spec.nullable) return null
  if (spec.default !== undefined && !isUnique) return spec.default
  return fieldKindOf(spec).numbered?.('erased', n, spec) ?? boundaryValues(spec)[0]
}

/** Returns the members of an object that erasure changes, with their new values. */
export function erasedMembers(specs: FieldSpecs, object: AnyRow, n: number): AnyRow {
  const names = personalNames(specs).filter((name) => Object.hasOwn(object, name))
  return Object.fromEntries(names.map((name) => [name, erasedValue(specs[name]!, n, false)]))
}

/** Returns the values that replace the personal ones of a row, without computed ones. */
function placeholdersOf(
  { fields, signsIn, unique }: ResourceDefinition,
  row: AnyRow,
  n: number,
): AnyRow {
  const inTuples = new Set(unique.flat())
  const placeholders: AnyRow = {}
  for (const name of personalNames(fields, signsIn?.username)) {
    const spec = fields[name]!
    if (!Object.hasOwn(row, name) || spec.computed !== undefined) continue
    const isUnique = spec.unique === true || inTuples.has(name) || name === signsIn?.username
    placeholders[name] = erasedValue(spec, n, isUnique)
  }
  return placeholders
}

/** Returns the names of the personal fields of a row that are not erased yet. */
export function namesToErase(definition: ResourceDefinition, row: AnyRow, n: number): string[] {
  const placeholders = placeholdersOf(definition, row, n)
  return personalNames(definition.fields, definition.signsIn?.username).filter(
    (name) => !Object.hasOwn(placeholders, name) || !isSameValue(row[name], placeholders[name]),
  )
}

/** Returns the fields of a row that erasure changes, with their new values. */
export function erasedFields(definition: ResourceDefinition, row: AnyRow, n: number): AnyRow {
  const { fields, signsIn } = definition
  const erased: AnyRow = { ...row, ...placeholdersOf(definition, row, n) }
  rowComputer(definition, true)(erased)
  const written = [...personalNames(fields, signsIn?.username), ...storedComputations(definition)]
  return Object.fromEntries(
    written
      .filter((name) => Object.hasOwn(row, name) && fields[name]!.computed !== 'read')
      .filter((name) => !isSameValue(row[name], erased[name]))
      .map((name) => [name, erased[name]]),
  )
}
