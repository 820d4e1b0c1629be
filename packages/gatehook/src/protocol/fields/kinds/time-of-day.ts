/** `f.timeOfDay()`: a time of day, stored with its seconds, so that texts sort by time. */
import { isoTime } from '../../../kernel/time.ts'
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { formCell } from './cells.ts'
import { textKind } from './text-kind.ts'

const TIME_OF_DAY = /^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/
const WORDS = 'a time of day, for example 09:30:00'
const isTimeOfDay = (text: string): boolean => TIME_OF_DAY.test(text)
const normalize = (text: string): string => (text.length === 'HH:MM'.length ? `${text}:00` : text)
const cell = formCell(WORDS, isTimeOfDay, normalize)

export const timeOfDayCall = {
  /** A time of day, without a day and a time zone: `09:30:00`. `09:30` has the seconds `00`. */
  timeOfDay: (): Field<string, 'required'> => declareField('timeOfDay'),
}

export const timeOfDay: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec, WORDS, isTimeOfDay), normalize),
  // The format `time` requires a time zone.
  schema: () => ({ type: 'string', pattern: TIME_OF_DAY.source, format: 'time-local' }),
  cell: () => cell,
  sample: ({ at }) => isoTime(at).slice('YYYY-MM-DDT'.length, 'YYYY-MM-DDTHH:MM:SS'.length),
  bounds: () => ['00:00:00', '23:59:59'],
  words: () => 'A time of day, without a time zone.',
  format: ['time-local', 'time of day'],
  input: {
    hint: 'A time of day, for example 09:30:00.',
    filter: {
      pattern: String.raw`^\d{2}:\d{2}(:\d{2})?$`,
      words: '09:30, >=09:30 or 09:30..17:00',
      isRange: true,
      isList: true,
    },
  },
}
