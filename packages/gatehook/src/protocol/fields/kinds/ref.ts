/** `f.ref(resource)`: the id of a row of another resource. */
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { NUMBER_PATTERN } from './numbers.ts'
import { rowIdKind } from './row-id-kind.ts'

function declareRef(target: string, prefix: string): Field<string, 'required'>
function declareRef(target: string): Field<number, 'required'>
function declareRef(target: string, prefix?: string): Field<number | string, 'required'> {
  const form = prefix === undefined ? { min: 1 } : { idPrefix: prefix }
  return declareField('ref', { target, ...form })
}

export const refCall = {
  /**
   * The id of a row of another resource, with the same customer and mode. If those ids have a
   * prefix, name it: `f.ref('bookings', 'bk')`.
   */
  ref: declareRef,
}

export const ref: FieldKind = {
  ...rowIdKind,
  isUnordered: true,
  callCode: ({ target, idPrefix }, { literal }) =>
    [target, idPrefix].flatMap((word) => (word ? literal(word) : [])).join(', '),
  words: ({ target }) => `The id of one of \`${target}\`.`,
  input: {
    filter: { pattern: NUMBER_PATTERN, words: '17', isRange: true, isList: true },
  },
}
