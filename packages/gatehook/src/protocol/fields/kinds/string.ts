/** `f.string()`: any text. */
import { declareField, type Field, type TextJson } from '../fields.ts'
import { textSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textKind } from './text-kind.ts'

const initial = { max: 255 }

export const stringCall = {
  /** Text of at most 255 characters, or `.max()`. */
  string: (): Field<string, 'required', TextJson> => declareField('string', initial),
}

export const string: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec)),
  schema: textSchema,
  isText: true,
  hasBounds: true,
  initial,
  hasFreeDefault: true,
  sample({ name, spec: { min = 0, max } }) {
    const words = name.replaceAll('_', ' ')
    return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`.padEnd(min, '.').slice(0, max)
  },
  // The end is the number: it differs also where the name does not fit.
  numbered: (name, n, { min = 0, max = Number.POSITIVE_INFINITY }) =>
    `${name}-${n}`.padEnd(min, '-').slice(-max),
  other: ({ max = 255 }, value) =>
    (value === 'changed' ? 'changed again' : 'changed').slice(0, max),
  bounds: ({ min = 0, max = 0 }) => ['x'.repeat(Math.max(0, min)), 'x'.repeat(Math.max(0, max))],
  input: { isFreeText: true },
}
