/** The values at the bounds of fields, on which the start tests conversions. Pure. */

import { lowestRowId } from '../../kernel/row-id.ts'
import { boundUnits, formatDecimal } from '../../protocol/fields/decimal.ts'
import { DURATION_MAX_MS } from '../../protocol/fields/duration.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { shortestMatch } from '../../protocol/fields/pattern.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { AnyRow } from './resource.ts'

/** Returns the values at one bound of each field: 0 is the least, -1 the largest. */
export const cornerRow = (fields: FieldSpecs, index: number): AnyRow =>
  Object.fromEntries(
    Object.entries(fields).map(([name, spec]) => [name, boundaryValues(spec).at(index)]),
  )

/** The bound of unbounded numbers. Beyond it a conversion of units loses precision. */
const LARGE = 1e12
const YEAR_9999_MS = 253_402_300_799_999

const listOf = ({ items }: FieldSpec, length: number): unknown[] => {
  const values = boundaryValues(items as FieldSpec)
  return Array.from({ length }, (_, n) => values[n % values.length])
}

/** Returns the least and the largest decimal. */
function decimalBounds({ precision = 0, scale = 0, min, max }: FieldSpec): readonly string[] {
  const largest = 10 ** precision - 1
  const [least, most] = [min, max].map((bound) =>
    bound === undefined ? undefined : boundUnits(bound, scale),
  )
  return [least ?? -largest, most ?? largest].map((units) => formatDecimal(units, scale))
}

const boundaryIds = ({ idPrefix }: FieldSpec): readonly unknown[] =>
  idPrefix === undefined ? [1, LARGE] : [lowestRowId(idPrefix), `${idPrefix}_${'z'.repeat(22)}`]

/** Returns the values at the bounds of a field, the least first. */
export function boundaryValues(spec: FieldSpec): readonly unknown[] {
  const { kind, min, max, values, nullable } = spec
  const text = (length: number) => 'x'.repeat(Math.max(0, length))
  const valuesByKind: Readonly<Record<FieldSpec['kind'], () => readonly unknown[]>> = {
    id: () => boundaryIds(spec),
    ref: () => boundaryIds(spec),
    string: () => [text(min ?? 0), text(max ?? 0)],
    email: () => ['a@b.de', `${text((max ?? 12) - 6)}@b.deu`],
    url: () => ['https://a.de/', `https://a.de/${text((max ?? 20) - 13)}`],
    currency: () => ['EUR'],
    oneOf: () => values ?? [],
    int: () => [min ?? -LARGE, max ?? LARGE],
    number: () => [min ?? -LARGE, max ?? LARGE],
    bool: () => [false, true],
    time: () => [0, YEAR_9999_MS],
    date: () => ['0001-01-01', '9999-12-31'],
    timeOfDay: () => ['00:00:00', '23:59:59'],
    duration: () => [min ?? 0, max ?? DURATION_MAX_MS],
    decimal: () => decimalBounds(spec),
    pattern: () => [shortestMatch(spec.pattern!)],
    object: () => [0, -1].map((index) => cornerRow(spec.members as FieldSpecs, index)),
    list: () =>
      [min ?? 0, Math.max(min ?? 0, Math.min(max ?? 1, 2))].map((length) => listOf(spec, length)),
    metadata: () => [{}, { key: 'value' }],
    json: () => [{}, ['text']],
    uuid: () => ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  }
  return nullable ? [null, ...valuesByKind[kind]()] : valuesByKind[kind]()
}
