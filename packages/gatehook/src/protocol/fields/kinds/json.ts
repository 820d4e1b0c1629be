/** `f.json()`: any JSON value. */
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { acceptAny, charactersOf, createReader, type FindMistake } from '../reading.ts'
import { jsonForm, jsonKind } from './json-kind.ts'

const initial = { max: 16_384 }

export const jsonCall = {
  /** Any JSON value except null: 16,384 characters, or `.max()`. A patch merges objects. */
  json: (): Field<unknown, 'required'> => declareField('json', initial),
}

function jsonFinder(max: number): FindMistake {
  return (value) => {
    if (value === null) return ['invalid_type', 'must be a JSON value other than null']
    if (JSON.stringify(value).length <= max) return undefined
    return ['too_long', `must have at most ${charactersOf(max)} as JSON`]
  }
}

export const json: FieldKind = {
  ...jsonKind,
  reader: ({ max }) => createReader(max === undefined ? acceptAny : jsonFinder(max)),
  // Any value: generators have no type for a union of the others.
  schema: ({ max }) => (max === undefined ? {} : { 'x-max-json-length': max }),
  form: () => jsonForm(),
  patch: (spec) => spec,
  display: 'json',
  isAnyJson: true,
  hasBounds: true,
  initial,
  sample: () => ({ key: 'value' }),
  bounds: () => [{}, ['text']],
  words: () => 'Any JSON value.',
}
