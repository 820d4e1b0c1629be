/** The cells of texts and numbers, which several kinds and the engine's own lists share. Pure. */
import { parseNumber } from '../json-number.ts'
import type { ListCell } from '../kind.ts'

const quote = (cell: unknown): string => JSON.stringify(cell)

export const textCell: ListCell = {
  encode: quote,
  parse: (text) => text,
  words: 'a text',
}

/** Returns the cell of texts of a form. `normalize` returns the stored text. */
export const formCell = (
  words: string,
  hasForm: (text: string) => boolean,
  normalize = (text: string): string => text,
): ListCell => ({
  encode: quote,
  parse: (text) => (hasForm(text) ? normalize(text) : undefined),
  words,
})

/** The text is JSON, which lists return as it is. */
export const jsonCell: ListCell = { ...textCell, encode: String }

export const integerCell: ListCell = {
  encode: String,
  parse(text) {
    const value = parseNumber(text)
    return Number.isSafeInteger(value) ? value : undefined
  },
  words: 'a whole number',
}
