/** The object of an event in another version than the one that recorded it. Pure. */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { isSameValue } from '../../protocol/fields/forms.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { AnyRow } from './resource.ts'
import { sampleValue } from './sample.ts'
import type { VersionShape } from './shape.ts'
import { parseWire } from './validate.ts'

/**
 * Converts an event's object from the version that recorded it to another (§9.11). It has no member
 * that the version hides (`stored-objects.ts`).
 */
export function convertObject(from: VersionShape, to: VersionShape, storedText: string): string {
  if (from.version === to.version || (from.chain.isEmpty && to.chain.isEmpty)) return storedText
  const recorded = parseWire(from.specs, JSON.parse(storedText) as AnyRow)
  const convert = (row: AnyRow) => to.encode(from.chain.up(row))
  const text = convert(withHidden(from, recorded))
  if (from.hidden.size === 0) return text
  return keepSame(text, convert(withHidden(from, recorded, otherValue)))
}

type SampleOf = (name: string, spec: FieldSpec) => unknown

/** Returns a value that the field accepts, and that differs from its sample. */
function otherValue(name: string, spec: FieldSpec): unknown {
  const value = sampleValue(name, spec)
  return fieldKindOf(spec).other?.(spec, value) ?? value
}

/** Events lack hidden fields: conversions receive a value that the field accepts. */
export function withHidden(from: VersionShape, row: AnyRow, sampleOf: SampleOf = sampleValue) {
  const whole = { ...row }
  for (const name of from.hidden) whole[name] ??= sampleOf(name, from.specs[name]!)
  return whole
}

/** Returns the object without the members that follow from samples, which differ in the other. */
function keepSame(text: string, otherText: string): string {
  if (text === otherText) return text
  const other = JSON.parse(otherText) as AnyRow
  const members = Object.entries(JSON.parse(text) as AnyRow)
  return JSON.stringify(
    Object.fromEntries(members.filter(([name, value]) => isSameValue(value, other[name]))),
  )
}
