/** `f.bool()`: `true` or `false`. Tables have 1 or 0. */
import { declareField, type Field } from '../fields.ts'
import type { FieldKind, ListCell } from '../kind.ts'
import { createReader, typeFinder } from '../reading.ts'

const WORDS = 'true or false'
const isBool = (text: string): boolean => text === 'true' || text === 'false'

export const boolCell: ListCell = {
  encode: (value) => (value ? 'true' : 'false'),
  parse: (text) => (isBool(text) ? Number(text === 'true') : undefined),
  words: WORDS,
}

export const boolCall = {
  /** `true` or `false`. */
  bool: (): Field<boolean, 'required'> => declareField('bool'),
}

export const bool: FieldKind = {
  reader: ({ nullable }) => createReader(typeFinder('boolean', WORDS, nullable)),
  schema: () => ({ type: 'boolean' }),
  form: () => ({ cell: { to: (value) => (value ? 1 : 0), from: (cell) => cell === 1 } }),
  cell: () => boolCell,
  fromQuery: (text) => (isBool(text) ? text === 'true' : text),
  display: 'truth',
  json: 'boolean',
  column: 'int',
  expression: (sql, type) =>
    `CAST(CASE WHEN (${sql}) THEN 1 WHEN NOT (${sql}) THEN 0 END AS ${type})`,
  isUnordered: true,
  hasFreeDefault: true,
  sample: () => true,
  other: (_spec, value) => !value,
  bounds: () => [false, true],
  isFinite: true,
  input: { filter: { words: WORDS } },
}
