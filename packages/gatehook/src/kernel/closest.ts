/**
 * Finds the word that a mistyped one probably means, and the words of every message that suggests
 * it ("did you mean …?"). Pure.
 */

/** Values that a sentence lists; of a longer set it names the first three. */
const LISTED_MAX = 12

/**
 * Counts insertions, deletions, substitutions and transpositions between two words, up to `most`.
 * Words that differ end it after a few letters.
 */
function editDistance(from: string, to: string, most: number): number {
  let before: number[] = []
  let leastBefore = 0
  let row = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substituted = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = swap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(substituted, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    // Each later cell continues from one of the last two rows.
    const least = Math.min(...next)
    if (least >= most && leastBefore >= most) return most
    leastBefore = least
    before = row
    row = next
  }
  return row[to.length]!
}

/**
 * Returns the closest candidate. At most a quarter of the letters may differ (one in a short word),
 * and at most three. A word of one letter resembles itself only.
 */
export function findClosest(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  let best: string | undefined
  let least = Math.min(3, Math.ceil(word.length / 4), Math.max(0, word.length - 1)) + 1
  for (const candidate of candidates) {
    // The distance is at least the difference in length, which bounds the work for a long word.
    if (candidate === '' || Math.abs(word.length - candidate.length) >= least) continue
    const distance = editDistance(lower, candidate.toLowerCase(), least)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Returns the clause behind a statement that rejects a word; '' without a close candidate. */
export function closestClause(word: string, candidates: readonly string[]): string {
  const closest = findClosest(word, candidates)
  return closest === undefined ? '' : `; did you mean ${closest}?`
}

/** Returns the statement that a declaration names a field which the resource lacks. */
export const missingField = (name: string, fields: object): string =>
  `there is no field ${name}${closestClause(name, Object.keys(fields))}`

/** Returns the sentence after one that rejects a word: the closest candidate, or all of them. */
export function closestSentence(word: string, candidates: readonly string[]): string {
  if (candidates.length === 0) return 'There are none.'
  const closest = findClosest(word, candidates)
  return closest === undefined ? `There are: ${candidates.join(', ')}.` : `Did you mean ${closest}?`
}

/** Returns a value of a list, in quotes if it would not be recognized there. */
const listedWord = (value: string): string =>
  value === '' || /[\s,"]/.test(value) ? JSON.stringify(value) : value

/** Completes "must be": the values in their order, or the first of many, and the closest one. */
export function oneOfWords(word: string, values: readonly string[]): string {
  const isLong = values.length > LISTED_MAX
  const words = (isLong ? values.slice(0, 3) : values).map(listedWord)
  const listed = `${words.join(', ')}${isLong ? ', …' : ''}`
  return `one of ${listed}${closestClause(word, values)}`
}

/** Ends a sentence with a dot, unless it has an end. */
export const endSentence = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`)
