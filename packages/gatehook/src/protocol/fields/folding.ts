/**
 * The folding of e-mail addresses and sign-in names (§4.8). Sign-in, unique fields and filters
 * compare folded texts. The process folds, because `lower()` differs between databases: SQLite
 * folds ASCII, PostgreSQL by its locale. Pure.
 */

/**
 * The longest text that is composed, in characters: the time of NFC is quadratic in the number of
 * successive combining marks, about 1 ms for this length and 20 s for 1 MiB.
 */
export const COMPOSED_MAX = 4096

/**
 * Returns one form for all spellings of a name: composed (Unicode NFC) and lower case. A longer
 * name than `COMPOSED_MAX` is not composed.
 */
export function foldName(name: string): string {
  if (name.length > COMPOSED_MAX) return name.toLowerCase()
  return name.normalize('NFC').toLowerCase().normalize('NFC')
}

/** The beginning of the names that the engine gives to tables and columns. */
export const ENGINE_PREFIX = 'gh_'

const FOLDED = `${ENGINE_PREFIX}folded_`

/** PostgreSQL truncates longer names of columns without an error. */
export const FOLDED_FIELD_MAX = 63 - FOLDED.length

/** Returns the column with the folded texts of an e-mail field. */
export const foldedColumn = (field: string): string => `${FOLDED}${field}`

/** Returns the field of a column, with folded texts or not. */
export const unfoldedColumn = (column: string): string =>
  column.startsWith(FOLDED) ? column.slice(FOLDED.length) : column
