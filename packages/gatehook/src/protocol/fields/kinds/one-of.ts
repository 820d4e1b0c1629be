/** `f.oneOf([…])`: one of the given texts. */
import { reportMistakes } from '../declaration-mistakes.ts'
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, setFinder } from '../reading.ts'
import { textKind } from './text-kind.ts'

function valuesOf<T extends readonly string[]>(values: T): readonly string[] {
  if (Array.isArray(values)) return values
  reportMistakes(["f.oneOf() requires an array of texts: f.oneOf(['open', 'shut'])"])
  return ['open', 'shut']
}

export const oneOfCall = {
  /** One of the given texts. */
  oneOf: <const T extends readonly [string, ...string[]]>(
    values: T,
  ): Field<T[number], 'required'> => declareField('oneOf', { values: valuesOf(values) }),
}

export const oneOf: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(setFinder(spec, spec.values ?? [])),
  schema: ({ values, isOpen }) => ({
    type: 'string',
    enum: values,
    ...(isOpen && { 'x-open-set': true }),
  }),
  isUnordered: true,
  callCode: ({ values = [] }, { literal }) => `[${values.map(literal).join(', ')}]`,
  findMistake: ({ values }) => (values?.length ? undefined : 'f.oneOf([…]) has no text'),
  hasFreeDefault: true,
  sample: ({ spec }) => spec.values?.[0],
  other: ({ values }, value) => values?.find((other) => other !== value),
  bounds: ({ values }) => values ?? [],
  isFinite: true,
  input: { filter: { words: 'a value or more', isList: true } },
}
