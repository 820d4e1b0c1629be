/**
 * Finds regular expressions in source text, and decides whether one takes linear time for any
 * input. The criterion is sufficient: no unbounded repetition, or a single one of a character or
 * class that begins at `^` or ends the expression.
 */

/** A literal at a position where an expression may begin; comments are removed before. */
const LITERAL = new RegExp(
  /(?<=(?:[=(,:?&|!{;[]|=>|return)\s*)\/(?![*/])/.source +
    /((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/[dgimsuvy]*/.source,
  'g',
)

export function expressionsIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/ .*$/gm, '')
  return [...code.matchAll(LITERAL)].map(([literal]) => literal)
}

const ATOM = /\\(?:p\{[^}]*\}|u\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\(\?(?:<?[=!]|:|<\w+>)|[\s\S]/g
const UNBOUNDED = /^(?:[*+]|\{\d+,\})/

export function isPlainlyLinear(literal: string): boolean {
  const source = literal.slice(1, literal.lastIndexOf('/'))
  const atoms = [...(source.match(ATOM) ?? [])]
  let repetitions = 0
  let isLast = false
  let ofGroup = false
  let text = ''
  for (const [at, atom] of atoms.entries()) {
    text = source.slice(atoms.slice(0, at).join('').length)
    if (atom.length > 1 || !UNBOUNDED.test(text) || at === 0) {
      if (atom !== '?' && atom !== ')') isLast = false
      continue
    }
    repetitions++
    ofGroup ||= atoms[at - 1] === ')'
    isLast = true
  }
  if (repetitions === 0) return true
  if (repetitions > 1 || ofGroup) return false
  return isLast || (source.startsWith('^') && !hasTopAlternative(atoms))
}

/** In `^a+|b`, the second alternative is not anchored. */
function hasTopAlternative(atoms: readonly string[]): boolean {
  let depth = 0
  for (const atom of atoms) {
    if (atom.startsWith('(')) depth++
    else if (atom === ')') depth--
    else if (atom === '|' && depth === 0) return true
  }
  return false
}
