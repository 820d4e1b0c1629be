/**
 * The fields of a declaration that say who a person is, and the values that replace them when the
 * person is erased (§18.11). Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { boundaryValues } from './boundary-values.ts'
import { type ComputeValue, listInputs, rowComputer, storedComputations } from './computed.ts'
import { columnsRead, derivedFields } from './derived.ts'
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
  return numberedValue(spec, n) ?? boundaryValues(spec)[0]
}

const numberedValue = (spec: FieldSpec, n: number): unknown =>
  fieldKindOf(spec).numbered?.('erased', n, spec)

/** Returns the members of an object that erasure changes, with their new values. */
export function erasedMembers(specs: FieldSpecs, object: AnyRow, n: number): AnyRow {
  const names = personalNames(specs).filter((name) => Object.hasOwn(object, name))
  return Object.fromEntries(names.map((name) => [name, erasedValue(specs[name]!, n, false)]))
}

/**
 * Returns the personal fields of a row, and those whose value follows from one: derived fields by
 * the columns of their expression, computed ones by what their function reads of this row.
 */
function followingNames(definition: ResourceDefinition, row: AnyRow): ReadonlySet<string> {
  const { fields, computations, signsIn } = definition
  const names = new Set(personalNames(fields, signsIn?.username))
  const readers = [
    ...derivedFields(fields).map(([name, spec]) => ({ name, read: columnsRead(spec, definition) })),
    ...Object.keys(computations).map((name) => ({
      name,
      read: [...listInputs(definition, name, row)],
    })),
  ]
  for (let size = 0; size < names.size; ) {
    size = names.size
    for (const { name, read } of readers)
      if (read.some((input) => names.has(input))) names.add(name)
  }
  return names
}

/** Returns the columns of texts without which a derived field would be too short. */
const columnsOfLongTexts = ({ fields }: ResourceDefinition): ReadonlySet<string> =>
  new Set(
    derivedFields(fields)
      .filter(([, { nullable, min = 0 }]) => !nullable && min > 0)
      .flatMap(([, spec]) => columnsRead(spec, { fields })),
  )

/** Returns the values that replace the personal ones of a row, without computed ones. */
function placeholdersOf(definition: ResourceDefinition, row: AnyRow, n: number): AnyRow {
  const { fields, signsIn, unique } = definition
  const inTuples = new Set(unique.flat())
  const longTexts = columnsOfLongTexts(definition)
  const placeholders: AnyRow = {}
  for (const name of personalNames(fields, signsIn?.username)) {
    const spec = fields[name]!
    if (!Object.hasOwn(row, name) || spec.computed !== undefined) continue
    const isUnique = spec.unique === true || inTuples.has(name) || name === signsIn?.username
    const value = erasedValue(spec, n, isUnique)
    const isTooShort = longTexts.has(name) && (value ?? '') === ''
    placeholders[name] = isTooShort ? (numberedValue(spec, n) ?? value) : value
  }
  return placeholders
}

/** Returns the names of the personal fields of a row that are not erased yet. */
function namesToErase(definition: ResourceDefinition, row: AnyRow, n: number): string[] {
  const placeholders = placeholdersOf(definition, row, n)
  return personalNames(definition.fields, definition.signsIn?.username).filter(
    (name) => !Object.hasOwn(placeholders, name) || !isSameValue(row[name], placeholders[name]),
  )
}

/** Returns the texts in a value. */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** The least characters of a personal text by which a longer text is personal, too. */
const PART_CHARACTERS_MIN = 2

/**
 * Returns the personal values of a row that are not erased yet, by field. Of a computed or derived
 * field that is not marked, these are texts with a personal one: `Ann Lee`, and no `adult`.
 */
export function valuesToErase(
  definition: ResourceDefinition,
  row: AnyRow,
  n: number,
): [name: string, value: unknown][] {
  const marked = namesToErase(definition, row, n)
  const parts = marked
    .flatMap((name) => textsOf(row[name]))
    .filter((text) => text.length >= PART_CHARACTERS_MIN)
    .map((text) => text.toLowerCase())
  const values = marked.map((name): [string, unknown] => [name, row[name]])
  for (const name of followingNames(definition, row)) {
    if (marked.includes(name) || !Object.hasOwn(row, name)) continue
    const texts = textsOf(row[name]).filter((text) => {
      const folded = text.toLowerCase()
      return parts.some((part) => folded.includes(part))
    })
    if (texts.length > 0) values.push([name, texts])
  }
  return values
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

/**
 * Returns the fields of a recorded row that erasure changes, with their new values: also those that
 * no column has, and that follow from personal ones.
 */
export function erasedRecord(definition: ResourceDefinition, row: AnyRow, n: number): AnyRow {
  const { fields, computations } = definition
  const following = followingNames(definition, row)
  const erased: AnyRow = { ...row, ...placeholdersOf(definition, row, n) }
  for (const [name, spec] of derivedFields(fields)) {
    if (following.has(name)) erased[name] = erasedValue(spec, n, false)
  }
  for (const [name, compute] of Object.entries(computations)) {
    const spec = fields[name]
    if (!spec || !following.has(name)) continue
    erased[name] = spec.isPersonal
      ? erasedValue(spec, n, false)
      : (computedOrNothing(compute, erased) ?? erasedValue(spec, n, false))
  }
  return Object.fromEntries(
    [...following]
      .filter((name) => Object.hasOwn(row, name) && !isSameValue(row[name], erased[name]))
      .map((name) => [name, erased[name]]),
  )
}

/** Own code may reject placeholders. */
function computedOrNothing(compute: ComputeValue, row: AnyRow): unknown {
  try {
    return compute(row)
  } catch {
    return undefined
  }
}
