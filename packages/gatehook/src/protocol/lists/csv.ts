/**
 * CSV by RFC 4180 (CRLF, quotes), from rows of JSON values. Null is an empty cell, an empty text is
 * `""`. No cell runs as a formula in a spreadsheet that separates by a comma, a semicolon or a tab:
 * the last two, and line breaks, would end the cell, because some spreadsheets ignore quotes inside
 * a line. `spec/vectors/csv-cells.json` has the same rule for other packages. Pure.
 */

/**
 * The beginning of a cell that a spreadsheet runs, also behind quotes, apostrophes and spaces. It
 * gets an apostrophe, which reading removes (`csv-reader.ts`).
 */
const FORMULA = /^(?=[ '"]*[=+\-@＝＋－＠\t\r\n])|(?<=[;\t\r\n])(?=[ '"]*[=+\-@＝＋－＠])/g
/** The same in JSON, whose strings can escape the separator. JSON has no raw tab or line break. */
const FORMULA_IN_JSON = /;(?=[ ']*[=+\-@＝＋－＠])/g
const SPECIAL = /[",;\t\r\n]/

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

function encodeText(value: string): string {
  if (value === '') return '""'
  const text = value.replace(FORMULA, "'")
  return SPECIAL.test(text) || text !== text.trim() ? quote(text) : text
}

function encodeJson(value: unknown): string {
  const text = JSON.stringify(value).replace(FORMULA_IN_JSON, '\\u003b')
  return SPECIAL.test(text) ? quote(text) : text
}

/** Encodes a JSON value as a cell. `isJson`: its field has any JSON, so that texts have quotes. */
export function encodeCsvCell(value: unknown, isJson = false): string {
  if (value === null || value === undefined) return ''
  if (isJson || typeof value === 'object') return encodeJson(value)
  return typeof value === 'string' ? encodeText(value) : String(value)
}

export const csvRow = (cells: readonly string[]): string => `${cells.join(',')}\r\n`
