/** The object of an event in another version than the one that recorded it. Pure. */
import type { AnyRow } from './resource.ts'
import { sampleValue } from './sample.ts'
import type { VersionShape } from './shape.ts'
import { parseWire } from './validate.ts'

/** Converts an event's object from the version that recorded it to another (§9.11). */
export function convertObject(from: VersionShape, to: VersionShape, objectText: string): string {
  if (from.version === to.version || (from.chain.isEmpty && to.chain.isEmpty)) return objectText
  const row = withHidden(from, parseWire(from.specs, JSON.parse(objectText) as AnyRow))
  return to.encode(from.chain.up(row))
}

/** Events lack hidden fields: conversions receive a value that the field accepts. */
export function withHidden(from: VersionShape, row: AnyRow): AnyRow {
  for (const name of from.hidden) row[name] ??= sampleValue(name, from.specs[name]!)
  return row
}
