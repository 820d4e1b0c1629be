/** `f.time()`: an instant, ISO 8601 in JSON and epoch milliseconds in rows and tables (§6.5). */
import {
  hasMoreThanMillis,
  isInstantMs,
  isoTime,
  LAST_INSTANT_MS,
  parseTime,
} from '../../../kernel/time.ts'
import { declareField, type Field } from '../fields.ts'
import type { FieldKind, ListCell, MemberKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'

const WORDS = 'an ISO 8601 instant, for example 2026-01-31T12:00:00Z'
const isInstant = (text: string): boolean => parseTime(text) !== undefined

export const timeCell: ListCell = {
  encode: (value) => `"${isoTime(value as number)}"`,
  parse: parseTime,
  words: WORDS,
  between: { has: hasMoreThanMillis, unused: LAST_INSTANT_MS + 1 },
}

export const timeCall = {
  /** An instant: ISO 8601 on the wire, epoch milliseconds in rows and handlers (§6.5). */
  time: (): Field<number, 'required', string> => declareField('time'),
}

/** The parts that the instant of a request has, too. */
export const instantReading = {
  reader: (spec) => createReader(textFinder(spec, WORDS, isInstant), parseTime),
  schema: () => ({ type: 'string', format: 'date-time' }),
  display: 'day',
} satisfies Partial<MemberKind>

export const time: FieldKind = {
  ...instantReading,
  form: () => ({
    json: {
      to: (value) => (isInstantMs(value) ? isoTime(value as number) : value),
      from: (json) => parseTime(json as string),
    },
  }),
  cell: () => timeCell,
  json: 'string',
  column: 'int',
  findMistake: ({ default: value }) =>
    value == null || isInstantMs(value)
      ? undefined
      : 'the default is an instant in milliseconds: Date.parse("2026-01-31")',
  hasFreeDefault: true,
  sample: ({ at }) => at,
  isMoment: true,
  bounds: () => [0, LAST_INSTANT_MS],
  words: () => 'An instant in ISO 8601.',
  format: ['date-time', 'instant'],
  input: {
    hint: 'An instant, for example 2026-11-24T14:00:00Z.',
    isInstant: true,
    filter: {
      pattern: String.raw`^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$`,
      words: '2026-11-24, >=2026-11-24 or 2026-11-01..2026-11-24',
      example: '>=2026-01-01',
      isRange: true,
    },
  },
}
