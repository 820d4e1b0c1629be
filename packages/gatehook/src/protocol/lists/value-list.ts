/**
 * The list of `field[in]=`: values between commas. A value with a comma or a quote, and an empty
 * one, is in double quotes, with inner quotes doubled (§7.7). `spec/vectors/value-lists.json` has
 * the same rule for other packages. Pure, in linear time.
 */
import { parameterFailure } from '../http/query.ts'

const VALUES_MAX = 100

/** The rule in documents. */
export const LIST_WORDS =
  `At most ${VALUES_MAX} values between commas. A value with a comma or a quote is in double ` +
  'quotes, with inner quotes doubled.'

const needsQuotes = (value: string): boolean => value === '' || /[",]/.test(value)

/** Returns the text of a list. */
export const valueListText = (values: readonly string[]): string =>
  values.map((value) => (needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(',')

/** Returns the values of a list. Throws `invalid_parameter` for malformed and longer lists. */
export function readValueList(parameter: string, text: string): string[] {
  const values: string[] = []
  const part = /(?:"((?:[^"]|"")*)"|([^",]+))(,|$)/y
  for (let end = false; !end; ) {
    const match = part.exec(text)
    if (!match) throw malformed(parameter, text)
    const [, quoted, plain, separator] = match
    if (values.length === VALUES_MAX) {
      throw parameterFailure('invalid_parameter', parameter, `takes at most ${VALUES_MAX} values`)
    }
    values.push(quoted?.replaceAll('""', '"') ?? plain!)
    end = separator === ''
  }
  return values
}

const malformed = (parameter: string, text: string) =>
  parameterFailure(
    'invalid_parameter',
    parameter,
    text === ''
      ? 'has no value'
      : 'must have values between commas; write an empty value, and one with a comma or a quote, ' +
          'in double quotes with inner quotes doubled',
  )
