/**
 * The folding of e-mail addresses and sign-in names (§4.8). Sign-in, unique fields and filters
 * compare folded texts. The process folds, because `lower()` differs between databases: SQLite
 * folds ASCII, PostgreSQL by its locale. Pure.
 */
import { composeText } from '../../kernel/compose.ts'

/** Returns one form for all spellings of a name: composed (Unicode NFC) and lower case. */
export const foldName = (name: string): string => composeText(composeText(name).toLowerCase())

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
