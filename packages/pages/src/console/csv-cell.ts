/**
 * The cell of a text in CSV (RFC 4180), by spec/vectors/csv-cells.json: no cell runs as a formula
 * in a spreadsheet that separates by a comma, a semicolon or a tab.
 */

/** The beginning of a cell that a spreadsheet runs, also behind quotes, apostrophes and spaces. */
const FORMULA = /^(?=[ '"]*[=+\-@＝＋－＠\t\r\n])|(?<=[;\t\r\n])(?=[ '"]*[=+\-@＝＋－＠])/g

/** Returns a cell, whose formulas have an apostrophe before them. */
export function csvCell(value: string): string {
  const text = value.replace(FORMULA, "'")
  const isPlain = !/[",;\t\r\n]/.test(text) && text === text.trim()
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`
}
