/** The lines that differ between two short texts. */

export interface DifferenceLine {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
}

/** Longer texts are compared as a whole: the comparison takes the product of both lengths. */
const MAX_LINES = 500

/** Returns the lines of both texts in order, from their longest common subsequence. */
export function lineDifference(before: string, after: string): DifferenceLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  if (a.length > MAX_LINES || b.length > MAX_LINES) {
    return [
      ...a.map((text) => ({ sign: '-' as const, text })),
      ...b.map((text) => ({ sign: '+' as const, text })),
    ]
  }
  const lengths = commonLengths(a, b)
  const lines: DifferenceLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i]! })
      i++
      j++
    } else if (j === b.length || (i < a.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      lines.push({ sign: '-', text: a[i++]! })
    } else lines.push({ sign: '+', text: b[j++]! })
  }
  return lines
}

/** Returns the length of the longest common subsequence from each pair of lines to the end. */
function commonLengths(a: readonly string[], b: readonly string[]): number[][] {
  const lengths = Array.from({ length: a.length + 1 }, () =>
    new Array<number>(b.length + 1).fill(0),
  )
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [row, next] = [lengths[i]!, lengths[i + 1]!]
      row[j] = a[i] === b[j] ? next[j + 1]! + 1 : Math.max(next[j]!, row[j + 1]!)
    }
  }
  return lengths
}
