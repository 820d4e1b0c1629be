/** `f.id()`: the id of the row. */
import { type EngineWrite, Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { NUMBER_PATTERN } from './numbers.ts'
import { rowIdKind } from './row-id-kind.ts'

function declareId(prefix: string): Field<string, EngineWrite>
function declareId(): Field<number, EngineWrite>
function declareId(prefix?: string): Field<number | string, EngineWrite> {
  const form = prefix === undefined ? { min: 1 } : { idPrefix: prefix }
  return new Field({ kind: 'id', write: 'never', nullable: false, ...form })
}

export const idCall = {
  /**
   * The id of the row: an integer that the database generates and never reuses (§6.8). With a
   * prefix, `f.id('bk')`, it is a text, `bk_0VhKq3ZrT4mXw9sLd2fGhJ`: ids sort by the time of
   * creation, and strangers cannot guess them (§6.16).
   */
  id: declareId,
}

export const id: FieldKind = {
  ...rowIdKind,
  callCode: ({ idPrefix }, { literal }) => (idPrefix ? literal(idPrefix) : ''),
  words: () => 'The id of the row. The server generates it and never reuses it.',
  input: { filter: { pattern: NUMBER_PATTERN, words: '17', isRange: true, isList: true } },
}
