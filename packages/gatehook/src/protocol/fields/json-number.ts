/**
 * Numbers as JSON writes them, in bodies, filters and imported cells. A number that would lose
 * digits is a mistake, except those that JSON writers produce for a double. Pure.
 */
import type { MistakeCode } from '../../kernel/mistakes.ts'

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const INTEGER = /^-?\d+$/

type NumberMistake = readonly [code: MistakeCode, reason: string]

/** Returns the mistake of a JSON number, which no double represents well; undefined for others. */
export function findNumberMistake(literal: string): NumberMistake | undefined {
  const number = Number(literal)
  if (!Number.isFinite(number)) return ['number_too_large', 'a number is too large']
  if (INTEGER.test(literal)) {
    if (Number.isSafeInteger(number) || isExact(literal, number)) return undefined
    return ['number_too_large', 'an integer lies beyond 2^53-1 and would lose digits']
  }
  if (Number.isInteger(number) && hasFraction(literal)) {
    return ['number_too_precise', 'a fraction would be rounded to a whole number']
  }
  return undefined
}

/** Whether the double is the integer, or JSON writes the double as this integer. */
const isExact = (literal: string, number: number): boolean =>
  String(number) === literal || BigInt(literal) === BigInt(number)

/** Returns whether the value has a fraction, after its exponent is applied. */
function hasFraction(literal: string): boolean {
  const [, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(literal)!
  const digits = whole + fraction
  let significant = digits.length // /0+$/ would be quadratic in inner zeros
  while (significant > 0 && digits[significant - 1] === '0') significant--
  return significant > Math.max(0, whole.length + Number(exponent))
}

/** Returns the number of a text that a body may contain; undefined for any other text. */
export const parseNumber = (text: string): number | undefined =>
  JSON_NUMBER.test(text) && findNumberMistake(text) === undefined ? Number(text) + 0 : undefined
