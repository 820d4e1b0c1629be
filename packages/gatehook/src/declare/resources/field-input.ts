/**
 * How the console shows a field, and has it in forms and filters: facts of its kind, so that the
 * pages need no list of kinds. Pure.
 */
import { rowIdPattern } from '../../kernel/row-id.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import type { InputFilter } from '../../protocol/fields/kind.ts'
import { fieldKindOf } from '../../protocol/fields/kinds/table.ts'
import { b } from '../../protocol/fields/members.ts'
import { sampleMember } from './sample.ts'

const JSON_TYPES = ['string', 'integer', 'number', 'boolean', 'any']

const filterMember = b
  .object({
    pattern: b
      .text()
      .nullable()
      .describe('The pattern of one value; null for any text.')
      .example('^[0-9]+$'),
    words: b.text().nullable().describe('Examples of its text.').example('500, >=500 or 100..500'),
    example: b.text().nullable().describe('The example of an empty filter.').example('>=500'),
    range: b.bool().describe('Whether it can be a range, `1..5`.').example(true),
    list: b.bool().describe('Whether it can have several values, `a,b`.').example(true),
    keys: b.bool().describe('Whether it names a key of the value.').example(false),
  })
  .describe('The filter of a list by the field.')

export const fieldInput = b
  .object({
    json: b.openSet(JSON_TYPES).describe('The type of the JSON; `any`: a form has the JSON text.'),
    hint: b.text().nullable().describe('The form of the text.').example('A day.'),
    example: b.json().describe('A value of a body, for examples.').example('draft'),
    free_text: b.bool().describe('Whether the text has no form.').example(false),
    instant: b.bool().describe('Whether the text is an instant.').example(false),
    amount: b.bool().describe('Whether the value is an amount.').example(false),
    filter: filterMember,
  })
  .describe('How a form has the value, by its kind.')

function jsonTypeOf(spec: FieldSpec): string {
  const { json, column } = fieldKindOf(spec)
  if (spec.idPrefix !== undefined) return 'string'
  return json === 'number' && column === 'int' ? 'integer' : json
}

/** An id with a prefix is a text. */
const filterOf = (spec: FieldSpec): InputFilter => {
  const { filter = {} } = fieldKindOf(spec).input ?? {}
  if (spec.idPrefix === undefined) return filter
  return {
    ...filter,
    pattern: rowIdPattern(spec.idPrefix),
    words: `${spec.idPrefix}_…`,
  }
}

/** Describes the input of a field. */
export function describeInput(name: string, spec: FieldSpec) {
  const { isMap = false, amount, input } = fieldKindOf(spec)
  const { pattern, words, example, isRange = false, isList = false } = filterOf(spec)
  return {
    json: jsonTypeOf(spec),
    hint: input?.hint ?? null,
    example: sampleMember(name, spec),
    free_text: input?.isFreeText ?? false,
    instant: input?.isInstant ?? false,
    amount: amount !== undefined,
    filter: {
      pattern: pattern ?? null,
      words: words ?? null,
      example: example ?? null,
      range: isRange,
      list: isList,
      keys: isMap,
    },
  }
}
