/** `f.date()`: a day of the calendar. */
import { isoTime, parseTime } from '../../../kernel/time.ts'
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { formCell } from './cells.ts'
import { textKind } from './text-kind.ts'

const LENGTH = 'YYYY-MM-DD'.length
const WORDS = 'a day that exists, for example 2026-01-31'
const isDate = (text: string): boolean => text.length === LENGTH && parseTime(text) !== undefined
const cell = formCell(WORDS, isDate)

export const dateCall = {
  /** A day of the calendar, without a time zone: `2026-01-31`. */
  date: (): Field<string, 'required'> => declareField('date'),
}

export const date: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec, WORDS, isDate)),
  schema: () => ({ type: 'string', format: 'date' }),
  cell: () => cell,
  sample: ({ at }) => isoTime(at).slice(0, LENGTH),
  isMoment: true,
  bounds: () => ['0001-01-01', '9999-12-31'],
  words: () => 'A day, without a time zone.',
  format: ['date', 'day'],
  input: {
    hint: 'A day, for example 2026-11-24.',
    filter: {
      pattern: String.raw`^\d{4}-\d{2}-\d{2}$`,
      words: '2026-11-24, >=2026-11-24 or 2026-11-01..2026-11-24',
      isRange: true,
      isList: true,
    },
  },
}
