/**
 * The patterns of `f.pattern(…)`: regular expressions that match any text in linear time. At each
 * character at most one part of the pattern can continue, so that the matcher never backtracks
 * (Brüggemann-Klein and Wood, One-Unambiguous Regular Languages, 1998). Pure.
 *
 * Accepted: characters, classes, `\d`, `\w`, groups, alternatives and repetitions, from `^` to `$`.
 */

/** A mistake in a pattern, as the rest of a sentence. */
export class PatternError extends Error {}

/** Ranges of code points. */
type CharacterSet = readonly (readonly [from: number, to: number])[]

type Tree =
  | { readonly kind: 'characters'; readonly set: CharacterSet }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Tree[] }
  | { readonly kind: 'repeat'; readonly part: Tree; readonly min: number; readonly max: number }

const LAST = 0x10ffff
const TOKEN = new RegExp(
  [
    /\\[dw]/, // a class
    /\\[\^$\\.*+?()[\]{}|/]/, // an escaped character
    /\[\^?(?:\\[dw^$\\.*+?()[\]{}|/-]|[^\\\]])*\]/,
    /\(\?:|[()|]/,
    /[*+?]|\{\d{1,4}(?:,\d{0,4})?\}/,
    /[^\\[\](){}|*+?^$.]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'uy',
)

/** Parses a pattern. Throws `PatternError`. */
function parsePattern(source: string): Tree {
  if (!source.startsWith('^') || !source.endsWith('$')) {
    throw new PatternError('a pattern begins with ^ and ends with $')
  }
  const tokens = tokensOf(source.slice(1, -1))
  const tree = readChoice(tokens)
  if (tokens.length > 0) throw new PatternError(`"${tokens[0]}" has no opening bracket`)
  return tree
}

/** Returns the tokens, the first at the end of the array. */
function tokensOf(text: string): string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[0]
    if (token === undefined) throw new PatternError(`"${text.slice(at, at + 8)}" is not accepted`)
    tokens.push(token)
    at += token.length
  }
  return tokens
}

function readChoice(tokens: string[]): Tree {
  const parts = [readSequence(tokens)]
  while (tokens[0] === '|') {
    tokens.shift()
    parts.push(readSequence(tokens))
  }
  return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
}

function readSequence(tokens: string[]): Tree {
  const parts: Tree[] = []
  while (tokens.length > 0 && tokens[0] !== '|' && tokens[0] !== ')') {
    parts.push(readRepetitions(readAtom(tokens.shift()!, tokens), tokens))
  }
  return { kind: 'sequence', parts }
}

function readAtom(token: string, tokens: string[]): Tree {
  if (/^[*+?{]/.test(token)) {
    throw new PatternError(`"${token}" has nothing to repeat`)
  }
  if (!token.startsWith('(')) return { kind: 'characters', set: characterSet(token) }
  const tree = readChoice(tokens)
  if (tokens.shift() !== ')') throw new PatternError('a group has no end')
  return tree
}

function readRepetitions(part: Tree, tokens: string[]): Tree {
  const token = tokens[0] ?? ''
  if (!/^[*+?{]/.test(token)) return part
  tokens.shift()
  if (/^[*+?{]/.test(tokens[0] ?? '')) {
    throw new PatternError(`"${token}${tokens[0]}" is not accepted`)
  }
  const [min, max] = repetitionOf(token)
  if (max < min) throw new PatternError(`"${token}" has its minimum above its maximum`)
  return { kind: 'repeat', part, min, max }
}

function repetitionOf(token: string): readonly [min: number, max: number] {
  if (token === '*') return [0, Infinity]
  if (token === '+') return [1, Infinity]
  if (token === '?') return [0, 1]
  const [min, max] = token.slice(1, -1).split(',')
  return [Number(min), max === undefined ? Number(min) : max === '' ? Infinity : Number(max)]
}

const codeOf = (character: string): number => character.codePointAt(0)!

function characterSet(token: string): CharacterSet {
  if (token === '\\d') return [[48, 57]]
  if (token === '\\w') return classRanges('0-9A-Z_a-z')
  if (token.startsWith('\\')) return [[codeOf(token[1]!), codeOf(token[1]!)]]
  if (!token.startsWith('[')) return [[codeOf(token), codeOf(token)]]
  const isNegated = token.startsWith('[^')
  const set = classRanges(token.slice(isNegated ? 2 : 1, -1))
  const characters = isNegated ? complementOf(set) : set
  if (characters.length === 0) throw new PatternError(`${token} has no characters`)
  return characters
}

const unescapeItem = (item: string): string =>
  item.length > 1 && item.startsWith('\\') ? item.slice(1) : item

function classRanges(text: string): CharacterSet {
  const items = text.match(/\\?./gsu) ?? []
  const ranges: (readonly [number, number])[] = []
  for (let at = 0; at < items.length; at++) {
    const item = items[at]!
    if (item === '\\d' || item === '\\w') ranges.push(...characterSet(item))
    else {
      const from = codeOf(unescapeItem(item))
      const isRange = items[at + 1] === '-' && at + 2 < items.length
      const end = isRange ? items[(at += 2)]! : item
      if (end === '\\d' || end === '\\w') throw new PatternError(`"${text}" is no range`)
      const to = codeOf(unescapeItem(end))
      if (to < from) throw new PatternError(`"${text}" has a range in the wrong order`)
      ranges.push([from, to])
    }
  }
  return ranges
}

function complementOf(set: CharacterSet): CharacterSet {
  const ranges: (readonly [number, number])[] = []
  let next = 0
  for (const [from, to] of set.toSorted((a, b) => a[0] - b[0])) {
    if (from > next) ranges.push([next, from - 1])
    next = Math.max(next, to + 1)
  }
  return next <= LAST ? [...ranges, [next, LAST]] : ranges
}

const overlap = (left: CharacterSet, right: CharacterSet): boolean =>
  left.some(([from, to]) => right.some(([low, high]) => from <= high && low <= to))

/** The positions at which a part begins and ends. */
interface Edges {
  readonly first: readonly number[]
  readonly last: readonly number[]
  readonly canBeEmpty: boolean
}

const POSITIONS_MAX = 1000

/** Verifies that a pattern never backtracks. Throws `PatternError`. */
export function judgePattern(source: string): void {
  const sets: CharacterSet[] = []
  const following: Set<number>[] = []
  const connect = (last: readonly number[], first: readonly number[]) => {
    for (const from of last) {
      for (const to of first) {
        if (following[from]!.has(to)) throw ambiguous(source)
        following[from]!.add(to)
      }
    }
  }
  const edgesOf = (tree: Tree): Edges => {
    if (tree.kind === 'characters') {
      if (sets.length >= POSITIONS_MAX) {
        throw new PatternError(`has more than ${POSITIONS_MAX} characters when it is written out`)
      }
      following.push(new Set())
      const at = sets.push(tree.set) - 1
      return { first: [at], last: [at], canBeEmpty: false }
    }
    if (tree.kind === 'repeat') return repeatEdges(tree)
    const edges = tree.parts.map(edgesOf)
    return tree.kind === 'choice' ? choiceEdges(edges) : sequenceEdges(edges)
  }
  const choiceEdges = (edges: readonly Edges[]): Edges => {
    if (edges.filter(({ canBeEmpty }) => canBeEmpty).length > 1) throw ambiguous(source)
    return {
      first: edges.flatMap(({ first }) => first),
      last: edges.flatMap(({ last }) => last),
      canBeEmpty: edges.some(({ canBeEmpty }) => canBeEmpty),
    }
  }
  const sequenceEdges = (edges: readonly Edges[]): Edges =>
    edges.reduce(
      (before, after): Edges => {
        connect(before.last, after.first)
        return {
          first: before.canBeEmpty ? [...before.first, ...after.first] : before.first,
          last: after.canBeEmpty ? [...before.last, ...after.last] : after.last,
          canBeEmpty: before.canBeEmpty && after.canBeEmpty,
        }
      },
      { first: [], last: [], canBeEmpty: true },
    )
  const repeatEdges = ({ part, min, max }: Extract<Tree, { kind: 'repeat' }>): Edges => {
    const once = () => {
      const edges = edgesOf(part)
      if (edges.canBeEmpty && (min !== 1 || max !== 1)) throw ambiguous(source)
      return edges
    }
    const loop = (): Edges => {
      const edges = once()
      connect(edges.last, edges.first)
      return edges
    }
    const required = Array.from({ length: max === Infinity ? Math.max(0, min - 1) : min }, once)
    if (max === Infinity) {
      const tail = loop()
      return sequenceEdges([...required, min === 0 ? { ...tail, canBeEmpty: true } : tail])
    }
    // x{0,3} is (x(x(x)?)?)?, in which one copy follows another.
    let optional: Edges = { first: [], last: [], canBeEmpty: true }
    for (let count = min; count < max; count++) {
      optional = { ...sequenceEdges([once(), optional]), canBeEmpty: true }
    }
    return sequenceEdges([...required, optional])
  }
  const { first } = edgesOf(parsePattern(source))
  for (const positions of [first, ...following]) requireDisjoint([...positions], sets, source)
}

const ambiguous = (source: string): PatternError =>
  new PatternError(
    `${source} can match a text in several ways, which can take long; write it so that the next ` +
      'character decides',
  )

function requireDisjoint(
  positions: readonly number[],
  sets: readonly CharacterSet[],
  source: string,
): void {
  positions.forEach((left, at) => {
    for (const right of positions.slice(at + 1)) {
      if (overlap(sets[left]!, sets[right]!)) throw ambiguous(source)
    }
  })
}

/** Returns a shortest text that the pattern matches. */
export const shortestMatch = (source: string): string => shortestOf(parsePattern(source))

function shortestOf(tree: Tree): string {
  if (tree.kind === 'characters') return representative(tree.set)
  if (tree.kind === 'repeat') return shortestOf(tree.part).repeat(tree.min)
  const texts = tree.parts.map(shortestOf)
  if (tree.kind === 'sequence') return texts.join('')
  return texts.reduce((least, text) => (text.length < least.length ? text : least))
}

/** Returns a letter or digit of the set, if it has one. */
function representative(set: CharacterSet): string {
  const common = [...'AaBb10'].find((character) =>
    set.some(([from, to]) => from <= codeOf(character) && codeOf(character) <= to),
  )
  if (common !== undefined) return common
  return String.fromCodePoint(set[0]![0])
}
