/** `f.int()`: an integer that JSON represents exactly. */
import { declareField, type Field } from '../fields.ts'
import { integerSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, integerFinder } from '../reading.ts'
import { integerCell } from './cells.ts'
import { NUMBER_PATTERN, otherNumber, sampleNumber, unboundedNumbers } from './numbers.ts'

/** The syntax of §7.3: no `1e2`, no `0x10`, no leading zeros. */
const INTEGER = /^-?(0|[1-9]\d*)$/

export const intCall = {
  /** An integer between -(2^53-1) and 2^53-1. */
  int: (): Field<number, 'required'> => declareField('int'),
}

export const int: FieldKind = {
  reader: (spec) => createReader(integerFinder(spec)),
  schema: integerSchema,
  cell: () => integerCell,
  fromQuery: (text) => (INTEGER.test(text) ? Number(text) : text),
  display: 'number',
  json: 'number',
  column: 'int',
  amount: 'integer',
  hasBounds: true,
  hasFreeDefault: true,
  sample: ({ spec }) => sampleNumber(spec, 1),
  other: otherNumber,
  bounds: unboundedNumbers,
  input: {
    filter: {
      pattern: NUMBER_PATTERN,
      words: '500, >=500 or 100..500',
      example: '>=500',
      isRange: true,
      isList: true,
    },
  },
}
