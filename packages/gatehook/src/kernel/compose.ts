/** The composition of text in linear time. Pure. */

/**
 * Marks without a base between them that are composed together. The sort of marks that Unicode
 * requires is quadratic in their number: 38 s for the 128 KiB that a body can have.
 *
 * @see UAX #15 §13, the Stream-Safe Text Format: 30 non-starters, then U+034F
 */
const LONG_RUN = /[\p{M}--\u034f]{30}(?=[\p{M}--\u034f])/gv

const separateMarks = (text: string): string => text.replace(LONG_RUN, '$&\u034f')

/**
 * Returns one form for all ways to compose the characters of a text (Unicode NFC), with U+034F
 * after each 30 successive marks. NFKC: also for letters of another width or style.
 *
 * @example composeText('E\u0301lise') // 'Élise'
 */
export const composeText = (text: string, form: 'NFC' | 'NFKC' = 'NFC'): string =>
  separateMarks(separateMarks(text).normalize(form))
