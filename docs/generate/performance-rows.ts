/** The order of rows: by number, then by letter. Pure. */
import type { Figure } from '../../bench/figures.ts'

const numberOf = (row: string): number => Number.parseInt(row, 10)

/** Returns figures in the order of their rows; those of one row keep theirs, SQLite first. */
export const byRow = (figures: readonly Figure[]): Figure[] =>
  figures.toSorted((a, b) => {
    const byNumber = numberOf(a.row) - numberOf(b.row) || a.row.localeCompare(b.row, 'en')
    return byNumber || b.database.localeCompare(a.database, 'en')
  })
