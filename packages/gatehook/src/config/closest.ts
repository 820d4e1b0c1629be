/** "Did you mean …?": the known word a mistyped one is nearest to. Pure. */

/** Insertions, deletions, substitutions and swaps of neighbours from one word to the other. */
function distance(from: string, to: string): number {
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

/** At most a quarter of the letters may differ (one in a short word), and no more than three. */
export function closest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.min(3, Math.ceil(word.length / 4)) + 1
  for (const candidate of known) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase())
    if (far < least) {
      least = far
      best = candidate
    }
  }
  return best
}
