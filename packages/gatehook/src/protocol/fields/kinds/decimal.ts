/** `f.decimal(digits, decimals)`: text in JSON and rows, units of the last digit in tables. */
import {
  boundUnits,
  DECIMAL_DIGITS_MAX,
  decimalPattern,
  formatDecimal,
  parseDecimal,
} from '../decimal.ts'
import { declareField, type Field } from '../fields.ts'
import { TEXT_KIND, withTextBounds } from '../json-schema.ts'
import type { FieldKind, ListCell, ValueForm } from '../kind.ts'
import { boundFinder, createReader, digitsOf, textFinder } from '../reading.ts'
import type { MemberSpec } from '../spec.ts'
import { NUMBER_PATTERN } from './numbers.ts'

export const decimalCall = {
  /**
   * An exact decimal: `f.decimal(12, 2)` has 12 digits, 2 of them after the point. Text in JSON
   * and in rows: `"12.50"`. At most 15 digits.
   */
  decimal: (precision: number, scale: number): Field<string, 'required'> =>
    declareField('decimal', { precision, scale }),
}

const sizeOf = ({ precision = 0, scale = 0 }: MemberSpec) => ({ precision, scale })

/** Returns the units of the declared bounds. */
const unitBounds = ({ scale = 0, min, max }: MemberSpec): readonly (number | undefined)[] =>
  [min, max].map((bound) => (bound === undefined ? undefined : boundUnits(bound, scale)))

/** Returns 1, or the valid value closest to it. */
function exampleOf(spec: MemberSpec): string {
  const { precision, scale } = sizeOf(spec)
  const units = precision > scale ? 10 ** scale : 1
  const [min = units, max = units] = unitBounds(spec)
  return formatDecimal(Math.min(Math.max(units, min), max), scale)
}

function createDecimalReader(spec: MemberSpec) {
  const size = sizeOf(spec)
  const { precision, scale } = size
  const digits = `at most ${digitsOf(precision - scale)} before the point and ${scale} after it`
  const isDecimal = (text: string) => parseDecimal(text, size) !== undefined
  const findForm = textFinder(
    { nullable: spec.nullable },
    `a decimal with ${digits}, in quotes, for example "${exampleOf(spec)}"`,
    isDecimal,
  )
  const [min, max] = unitBounds(spec)
  const findBound = boundFinder(min, max, (units) => formatDecimal(units, scale))
  return createReader(
    (value) => findForm(value) ?? findBound(parseDecimal(value as string, size)!),
    (text: string) => formatDecimal(parseDecimal(text, size)!, scale),
  )
}

function createForm(spec: MemberSpec): ValueForm {
  const size = sizeOf(spec)
  return {
    cell: {
      /** Bodies are valid; another value is a mistake of the team's code. */
      to(value) {
        const units = typeof value === 'string' ? parseDecimal(value, size) : undefined
        if (units !== undefined) return units
        throw new TypeError(`${String(value)} is not a decimal(${size.precision}, ${size.scale})`)
      },
      from: (cell) => formatDecimal(cell as number, size.scale),
    },
  }
}

function cellOf(spec: MemberSpec): ListCell {
  const size = sizeOf(spec)
  return {
    encode: (units) => `"${formatDecimal(units as number, size.scale)}"`,
    parse: (text) => parseDecimal(text, size),
    words: `a decimal with ${size.scale} decimals`,
  }
}

function findMistake({ precision, scale, min, max }: MemberSpec): string | undefined {
  const isSize = Number.isInteger(precision) && Number.isInteger(scale)
  if (!isSize || precision! < 1 || precision! > DECIMAL_DIGITS_MAX) {
    return `f.decimal(digits, decimals) takes 1 to ${DECIMAL_DIGITS_MAX} digits`
  }
  if (scale! < 0 || scale! > precision!) return 'has more decimals than digits'
  const size = { precision: precision!, scale: scale! }
  const bound = [min, max].find(
    (bound) => bound !== undefined && parseDecimal(String(bound), size) === undefined,
  )
  if (bound === undefined) return undefined
  return `${bound} has more digits than decimal(${precision}, ${scale})`
}

export const decimal: FieldKind = {
  reader: createDecimalReader,
  schema(spec) {
    const size = sizeOf(spec)
    const [min, max] = unitBounds(spec)
    // Without a format: some generators read `decimal` as a floating-point number.
    return withTextBounds(
      { type: 'string', pattern: decimalPattern(size), [TEXT_KIND]: 'decimal' },
      {
        ...(min !== undefined && { min: formatDecimal(min, size.scale) }),
        ...(max !== undefined && { max: formatDecimal(max, size.scale) }),
      },
    )
  },
  form: createForm,
  cell: cellOf,
  json: 'string',
  column: 'int',
  amount: 'fraction',
  hasBounds: true,
  callCode: ({ precision, scale }) => `${precision}, ${scale}`,
  findMistake,
  sample: ({ spec }) => exampleOf(spec),
  bounds(spec) {
    const { precision, scale } = sizeOf(spec)
    const largest = 10 ** precision - 1
    const [min = -largest, max = largest] = unitBounds(spec)
    return [min, max].map((units) => formatDecimal(units, scale))
  },
  words: () => 'An exact decimal, as text.',
  format: ['decimal', 'decimal'],
  input: {
    filter: { pattern: NUMBER_PATTERN, words: '12.50, >=12.50 or 10..20', isRange: true },
  },
}
