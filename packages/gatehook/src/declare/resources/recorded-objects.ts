/**
 * Erases the objects of events and the inputs of jobs, which have the form of the release that
 * recorded them (§18.11). A member that the declaration no longer has is removed: nothing says
 * whether it was personal. Pure.
 */
import { isSameValue } from '../../protocol/fields/forms.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { withHidden } from './event-object.ts'
import { erasedMembers, erasedRecord } from './personal-fields.ts'
import type { AnyRow, ResourceDefinition } from './resource.ts'
import type { VersionShape } from './shape.ts'
import { parseWire, toWire } from './validate.ts'

/** The recorded object of a row. */
interface RecordedRow {
  readonly definition: ResourceDefinition
  /** The shape of its version. Undefined: the service no longer has the version. */
  readonly from: VersionShape | undefined
  readonly object: AnyRow
  /** The row of the newest shape. */
  readonly row: AnyRow
}

/** Reads the object of an event of a row. */
export function readRecordedRow(
  definition: ResourceDefinition,
  from: VersionShape | undefined,
  text: string,
): RecordedRow {
  const object = JSON.parse(text) as AnyRow
  const row = from ? from.chain.up(withHidden(from, parseWire(from.specs, object))) : object
  return { definition, from, object, row }
}

/** Returns the personal values of fields that a later version has not, and that are not erased. */
export function formerValues({ definition, from, object }: RecordedRow, n: number): unknown[] {
  if (!from) return []
  const erased = toWire(from.specs, erasedMembers(from.specs, object, n))
  return Object.keys(erased)
    .filter((name) => from.specs[name] !== definition.fields[name])
    .filter((name) => !isSameValue(object[name], erased[name]))
    .map((name) => object[name])
}

/** Returns the text of the object of a row once its person is erased. */
export function eraseRecordedRow(recorded: RecordedRow, text: string, n: number): string {
  const { definition, from, object, row } = recorded
  const { fields } = definition
  const erased = erasedRecord(definition, row, n)
  if (!from || from.chain.isEmpty)
    return replaceMembers(text, object, fields, toWire(fields, erased))
  const converted = JSON.parse(from.encode({ ...row, ...erased })) as AnyRow
  const ofVersion = toWire(from.specs, erasedMembers(from.specs, object, n))
  const members: AnyRow = {}
  for (const [name, spec] of Object.entries(from.specs)) {
    // The newest fields have no value of an older one that its change drops.
    if (spec !== fields[name] || Object.hasOwn(erased, name)) members[name] = converted[name]
    if (spec !== fields[name] && Object.hasOwn(ofVersion, name)) members[name] = ofVersion[name]
  }
  return replaceMembers(text, object, from.specs, members)
}

/**
 * Returns the text of an object with new values of the members that it has, and without undeclared
 * ones: the same text if none differs.
 */
export function replaceMembers(
  text: string,
  object: AnyRow,
  declared: FieldSpecs,
  members: AnyRow,
): string {
  const entries = Object.entries(object)
  const replaced = entries
    .filter(([name]) => Object.hasOwn(declared, name))
    .map(([name, value]) => [name, Object.hasOwn(members, name) ? members[name] : value] as const)
  const isSame =
    replaced.length === entries.length &&
    replaced.every(([name, value]) => isSameValue(object[name], value))
  return isSame ? text : JSON.stringify(Object.fromEntries(replaced))
}
