/** The values at the bounds of fields, on which the start tests conversions. Pure. */
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { MemberSpec } from '../../protocol/fields/spec.ts'
import type { AnyRow } from './resource.ts'

/** Returns the values at one bound of each field: 0 is the least, -1 the largest. */
export const cornerRow = (fields: FieldSpecs, index: number): AnyRow =>
  Object.fromEntries(
    Object.entries(fields).map(([name, spec]) => [name, boundaryValues(spec).at(index)]),
  )

/** Returns the values at the bounds of a field, the least first. */
export function boundaryValues(spec: MemberSpec): readonly unknown[] {
  const values = fieldKindOf(spec).bounds(spec, boundaryValues)
  return spec.nullable ? [null, ...values] : values
}
