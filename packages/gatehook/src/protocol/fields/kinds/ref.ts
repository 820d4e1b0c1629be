/** `f.ref(resource)`: the id of a row of another resource. */
import { declareField, type Field, type RefJson } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { NUMBER_PATTERN } from './numbers.ts'
import { rowIdKind } from './row-id-kind.ts'

type Reference<T extends string, Id> = Field<Id, 'required', RefJson<T, Id>>

function declareRef<const T extends string>(target: T, prefix: string): Reference<T, string>
function declareRef<const T extends string>(target: T): Reference<T, number>
function declareRef<T extends string>(target: T, prefix?: string): Reference<T, number | string> {
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
