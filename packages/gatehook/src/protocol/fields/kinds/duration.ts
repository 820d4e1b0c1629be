/** `f.duration()`: a duration, ISO 8601 in JSON and milliseconds in rows and tables. */
import { DURATION_MAX_MS, DURATION_PATTERN, formatDuration, parseDuration } from '../duration.ts'
import { declareField, type Field } from '../fields.ts'
import { TEXT_KIND, withTextBounds } from '../json-schema.ts'
import type { FieldKind, ListCell } from '../kind.ts'
import { boundFinder, createReader, textFinder } from '../reading.ts'
import { sampleNumber } from './numbers.ts'

const HOUR_MS = 3_600_000
const initial = { min: 0 }
const WORDS = 'a duration of weeks, days, hours, minutes or seconds, for example PT1H30M'
const isDuration = (text: string): boolean => parseDuration(text) !== undefined

const cell: ListCell = {
  encode: (value) => `"${formatDuration(value as number)}"`,
  parse: parseDuration,
  words: 'an ISO 8601 duration, for example PT1H30M',
}

export const durationCall = {
  /**
   * A duration in weeks, days, hours, minutes and seconds: ISO 8601 on the wire, `PT1H30M`,
   * milliseconds in rows and handlers.
   */
  duration: (): Field<number, 'required', string> => declareField('duration', initial),
}

export const duration: FieldKind = {
  reader({ min, max, nullable }) {
    const findForm = textFinder({ nullable }, WORDS, isDuration)
    const findBound = boundFinder(min, max, formatDuration)
    return createReader(
      (value) => findForm(value) ?? findBound(parseDuration(value as string)!),
      parseDuration,
    )
  },
  schema: ({ min, max }) =>
    withTextBounds(
      // The format `duration` excludes fractions.
      { type: 'string', pattern: DURATION_PATTERN, [TEXT_KIND]: 'duration' },
      {
        ...(min !== undefined && min > 0 && { min: formatDuration(min) }),
        ...(max !== undefined && { max: formatDuration(max) }),
      },
    ),
  form: () => ({
    json: {
      to: (value) => (typeof value === 'number' ? formatDuration(value) : value),
      from: (json) => parseDuration(json as string),
    },
  }),
  cell: () => cell,
  json: 'string',
  column: 'int',
  hasBounds: true,
  initial,
  sample: ({ spec }) => sampleNumber(spec, HOUR_MS),
  bounds: ({ min = 0, max = DURATION_MAX_MS }) => [min, max],
  words: () => 'A duration in ISO 8601.',
  format: ['duration', 'duration'],
  input: {
    hint: 'An ISO 8601 duration, for example PT1H30M.',
    filter: { isRange: true },
  },
}
