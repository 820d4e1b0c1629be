/** `f.number()`: a floating-point number. */
import { declareField, type Field } from '../fields.ts'
import { parseNumber } from '../json-number.ts'
import { withBounds } from '../json-schema.ts'
import type { FieldKind, ListCell } from '../kind.ts'
import { createReader, numberFinder } from '../reading.ts'
import { NUMBER_PATTERN, otherNumber, sampleNumber, unboundedNumbers } from './numbers.ts'

const isNumber = (value: unknown): boolean => typeof value === 'number'
export const numberCell: ListCell = { encode: String, parse: parseNumber, words: 'a number' }

export const numberCall = {
  /** A floating-point number (IEEE 754 double). Not for money. */
  number: (): Field<number, 'required'> => declareField('number'),
}

export const number: FieldKind = {
  reader: (spec) => createReader(numberFinder(spec, 'a number', isNumber)),
  schema: (spec) => withBounds({ type: 'number' }, spec, 'minimum', 'maximum'),
  cell: () => numberCell,
  fromQuery: (text) => parseNumber(text) ?? text,
  display: 'number',
  json: 'number',
  column: 'real',
  amount: 'fraction',
  hasBounds: true,
  hasFreeDefault: true,
  sample: ({ spec }) => sampleNumber(spec, 1),
  other: otherNumber,
  bounds: unboundedNumbers,
  input: {
    filter: { pattern: NUMBER_PATTERN, words: '0.5, >=0.5 or 0.1..0.5', isRange: true },
  },
}
