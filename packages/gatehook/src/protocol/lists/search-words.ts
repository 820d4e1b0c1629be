/**
 * The words of a text and of `q` (§7.12): runs of letters and digits, and emoji, without case and
 * accents. Both databases store these words, so that both find the same rows. Pure.
 */

/** Longest part of a text that is one word, before it is folded. */
const RUN_MAX = 64
/** Longest stored word; longer ones are equal if they begin with the same characters. */
export const WORD_MAX_CHARACTERS = 40
/** Stored words of one row; later words are not found. */
export const ROW_WORDS_MAX = 1_000

const RUN = /[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu
/** A text whose runs are words, except for case and length: four times as fast. */
const ASCII = /^[\x20-\x7e\s]*$/
const ACCENTS = /[\u0300-\u036f]+/g

/**
 * Adds the distinct words of a text to those of others, up to `ROW_WORDS_MAX` in all, and returns
 * them. Linear in its length.
 */
export function wordsOf(text: string, words = new Set<string>()): Set<string> {
  if (words.size >= ROW_WORDS_MAX) return words
  if (ASCII.test(text)) return addAsciiWords(text.toLowerCase(), words)
  for (const [run] of text.matchAll(RUN)) {
    // The server normalizes short parts only: composing a long one takes quadratic time.
    for (const [part] of foldRun(run.slice(0, RUN_MAX)).matchAll(RUN)) {
      words.add([...part].slice(0, WORD_MAX_CHARACTERS).join(''))
      if (words.size === ROW_WORDS_MAX) return words
    }
  }
  return words
}

/** A loop over the characters: the results of an expression take half as long again. */
function addAsciiWords(text: string, words: Set<string>): Set<string> {
  for (let at = 0, from = 0; at <= text.length && words.size < ROW_WORDS_MAX; at++) {
    if (isLetterOrDigit(text.charCodeAt(at))) continue
    if (at > from) words.add(text.slice(from, Math.min(at, from + WORD_MAX_CHARACTERS)))
    from = at + 1
  }
  return words
}

/** Of a lower case ASCII character; NaN is none. */
const isLetterOrDigit = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57)

/** Removes case, accents, and half of a character at the end. `½` becomes `1⁄2`, two words. */
const foldRun = (run: string): string =>
  run.toWellFormed().normalize('NFKD').toLowerCase().replace(ACCENTS, '')

/**
 * Returns the words of a request, without those that another one begins with: a row with `anna` has
 * a word that begins with `an`.
 */
export function requestedWords(text: string): string[] {
  const words = [...wordsOf(text)].sort()
  return words.filter((word, at) => !words[at + 1]?.startsWith(word))
}
