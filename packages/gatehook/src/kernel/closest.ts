/** Finds the word that a mistyped one probably means ("Did you mean …?"). Pure. */

/** Counts insertions, deletions, substitutions and transpositions between two words. */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, n) => n)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substituted = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      const swap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const swapped = swap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(substituted, swapped, row[j]! + 1, next[j - 1]! + 1))
    }
    before = row
    row = next
  }
  return row[to.length]!
}

/**
 * Returns the closest candidate. At most a quarter of the letters may differ (one in a short word),
 * and at most three.
 */
export function findClosest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.min(3, Math.ceil(word.length / 4)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}
