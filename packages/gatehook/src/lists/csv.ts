/**
 * CSV by RFC 4180 (CRLF, quotes), from and to rows of JSON values. Spreadsheets run texts that
 * begin with `=`, `+`, `-` or `@`, also full-width ones, as formulas: such a text gets an
 * apostrophe, which reading removes. Null is an empty cell, an empty text is `""`. Pure.
 */

/** A text that a spreadsheet would run, behind any number of apostrophes. */
const FORMULA = /^'*[=+\-@＝＋－＠\t\r\n]/
const SPECIAL = /[",\r\n]/

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Encodes a JSON value as a cell. */
function encodeCsvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') return quote(JSON.stringify(value))
  if (typeof value !== 'string') return String(value)
  if (value === '') return '""'
  const text = FORMULA.test(value) ? `'${value}` : value
  return SPECIAL.test(text) || text !== text.trim() ? quote(text) : text
}

export const encodeCsvRow = (values: readonly unknown[]): string =>
  `${values.map(encodeCsvCell).join(',')}\r\n`
