/**
 * Exact decimals: text in JSON and in rows, an integer number of the last digit's units in tables.
 * Such integers sort and compare like the decimals. Pure.
 */

/** Every integer of 15 digits is exact in an IEEE 754 double. */
export const DECIMAL_DIGITS_MAX = 15

export interface DecimalSize {
  /** The digits before and after the point together. */
  readonly precision: number
  readonly scale: number
}

const DECIMAL = /^(-?)(0|[1-9]\d{0,14})(?:\.(\d{1,15}))?$/

/** Returns the units: 1250 for `12.5` with two decimals; undefined for text of another form. */
export function parseDecimal(text: string, { precision, scale }: DecimalSize): number | undefined {
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined || fraction.length > scale) return undefined
  if (whole !== '0' && whole.length > precision - scale) return undefined
  const units = Number(whole + fraction.padEnd(scale, '0'))
  return sign === '-' && units !== 0 ? -units : units
}

/** Returns the decimal with all its digits: `12.50`. */
export function formatDecimal(units: number, scale: number): string {
  const digits = String(Math.abs(units)).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`
  return `${units < 0 ? '-' : ''}${whole}${fraction}`
}

/** Returns the units of a bound that the declaration writes as a number. */
export const boundUnits = (bound: number, scale: number): number => Math.round(bound * 10 ** scale)

/** Returns the pattern of the text for JSON Schema. */
export function decimalPattern({ precision, scale }: DecimalSize): string {
  const whole = precision - scale
  const digits = whole === 0 ? '0' : `(0|[1-9][0-9]{0,${whole - 1}})`
  return `^-?${digits}${scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`}$`
}
