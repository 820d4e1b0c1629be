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
const ASCII_RUN = /[a-z0-9]+/g
const ACCENTS = /[\u0300-\u036f]+/g

/** Returns the distinct words of a text, at most `most`. Linear in its length. */
export function wordsOf(text: string, most = ROW_WORDS_MAX): Set<string> {
  const words = new Set<string>()
  if (ASCII.test(text)) {
    for (const [run] of text.toLowerCase().matchAll(ASCII_RUN)) {
      words.add(run.slice(0, WORD_MAX_CHARACTERS))
      if (words.size === most) break
    }
    return words
  }
  for (const [run] of text.matchAll(RUN)) {
    // The server normalizes short parts only: composing a long one takes quadratic time.
    for (const [part] of foldRun(run.slice(0, RUN_MAX)).matchAll(RUN)) {
      words.add([...part].slice(0, WORD_MAX_CHARACTERS).join(''))
      if (words.size === most) return words
    }
  }
  return words
}

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
