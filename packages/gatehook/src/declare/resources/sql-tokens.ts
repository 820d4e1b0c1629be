/**
 * The tokens of a statement of own code, in the form that SQLite and PostgreSQL have in common.
 * Text that one of them reads in another way is refused. Pure, in linear time.
 */

/** The part of a statement that is no text: a table, a value, or an expression of the source. */
export type SqlSlot = 'table' | 'value' | 'unknown'

export interface SqlToken {
  readonly kind: 'word' | 'quoted' | 'text' | 'number' | 'mark' | SqlSlot
  /** A word in lower case, a quoted name as it is, or a mark: a character, `::` or `[]`. */
  readonly text: string
  /** Where the token begins in the text of the statement, without its slots. */
  readonly at: number
}

/** A mistake, and where it is in the text of the statement without its slots. */
export class SqlMistake extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

const WORD = /[A-Za-z_\u0080-\uffff][\w\u0080-\uffff$]*/y
const NUMBER = /0[xX][0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?/y
const SPACE = /[\t\n\f\r ]+/y
const NAME_CHARACTER = /[\w$\u0080-\uffff]/
/** White space and characters without a shape, which one database reads as letters. */
const INVISIBLE = /[\p{Z}\p{C}]/u
/** The text in brackets: both databases read it up to the next bracket. */
const SUBSCRIPT = /^[\w\t\n\f\r ,:]*$/
const MARKS = new Set('()*,-./;+<=>!%&^|~')

const lowered = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const isNameCharacter = (character: string | undefined): boolean =>
  character !== undefined && NAME_CHARACTER.test(character)

/** Returns the tokens of the texts of a template, with a slot between two of them. */
export function tokensOf(texts: readonly string[], slots: readonly SqlSlot[]): SqlToken[] {
  const tokens: SqlToken[] = []
  let start = 0
  for (const [index, text] of texts.entries()) {
    const slot = slots[index]
    readTokens({ text, start, isLast: slot === undefined }, tokens)
    start += text.length
    if (slot === undefined) continue
    // `?` and `$1` are parts of the words and numbers beside them.
    if (
      slot === 'value' &&
      (isNameCharacter(text.at(-1)) || isNameCharacter(texts[index + 1]?.[0]))
    )
      throw new SqlMistake('a value has a space before and after it', start)
    addToken(tokens, { kind: slot, text: '', at: start })
  }
  return tokens
}

/** A text of the template. */
interface SqlPart {
  readonly text: string
  /** Where it begins in the text of the statement. */
  readonly start: number
  readonly isLast: boolean
}

/** A token, or a part between tokens: white space and comments have no kind. */
interface SqlPiece {
  readonly kind?: SqlToken['kind']
  readonly value?: string
  readonly end: number
}

function readTokens(part: SqlPart, tokens: SqlToken[]): void {
  for (let at = 0; at < part.text.length; ) {
    const { kind, value = '', end } = readPiece(part, at)
    if (kind) addToken(tokens, { kind, text: value, at: part.start + at })
    at = end
  }
}

/** Adds a token. A word after a dot, `::` or the keyword AS is a name, whatever the word is. */
function addToken(tokens: SqlToken[], token: SqlToken): void {
  const before = tokens.at(-1)
  if (before?.kind === 'text' && token.kind === 'text') {
    throw new SqlMistake('a text follows a text', token.at)
  }
  const isNameNext =
    (before?.kind === 'word' && before.text === 'as') ||
    (before?.kind === 'mark' && (before.text === '.' || before.text === '::'))
  tokens.push(isNameNext && token.kind === 'word' ? { ...token, kind: 'quoted' } : token)
}

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function readPiece(part: SqlPart, at: number): SqlPiece {
  const { text } = part
  const character = text[at]!
  const space = matchAt(SPACE, text, at)
  if (space !== undefined) return { end: at + space.length }
  if (text.startsWith('--', at)) return { end: endOfLine(part, at) }
  if (text.startsWith('/*', at)) return { end: endOfComment(part, at) }
  if (character === "'") return { kind: 'text', end: endOfQuotes(part, at) }
  if (character === '"') {
    const end = endOfQuotes(part, at)
    return { kind: 'quoted', value: text.slice(at + 1, end - 1).replaceAll('""', '"'), end }
  }
  if (character === '[') return { kind: 'mark', value: '[]', end: endOfSubscript(part, at) }
  const number = matchAt(NUMBER, text, at)
  if (number !== undefined) {
    const end = at + number.length
    if (!isNameCharacter(text[end])) return { kind: 'number', value: number, end }
    throw mistakeAt(part, end, 'a number has a space after it')
  }
  const word = matchAt(WORD, text, at)
  return word === undefined ? readMark(part, at) : readWord(part, at, word)
}

const mistakeAt = ({ start }: SqlPart, at: number, sentence: string): SqlMistake =>
  new SqlMistake(sentence, start + at)

function readWord(part: SqlPart, at: number, word: string): SqlPiece {
  const { text } = part
  const end = at + word.length
  const next = text[end]
  if (INVISIBLE.test(word)) throw mistakeAt(part, at, 'a name has white space or no shape')
  if (/^e$/i.test(word) && next === "'") {
    const endOfText = endOfQuotes(part, end)
    if (!text.slice(end, endOfText).includes('\\')) return { kind: 'text', end: endOfText }
    throw mistakeAt(part, at, "E'…' has a backslash, which SQLite reads as a character")
  }
  if (/^u$/i.test(word) && next === '&' && (text[end + 1] === '"' || text[end + 1] === "'")) {
    throw mistakeAt(part, at, 'U& has no place in sql')
  }
  return { kind: 'word', value: lowered(word), end }
}

function readMark(part: SqlPart, at: number): SqlPiece {
  const character = part.text[at]!
  const next = part.text[at + 1]
  if (character === ':' && next === ':' && part.text[at + 2] !== ':') {
    return { kind: 'mark', value: '::', end: at + 2 }
  }
  // SQLite has the variables @a, #a and :a.
  const isOperator =
    (character === '@' || character === '#') && next !== ':' && !isNameCharacter(next)
  if (isOperator || MARKS.has(character)) return { kind: 'mark', value: character, end: at + 1 }
  const isValue = '?$:@#'.includes(character)
  const advice = isValue ? `a value is \${…}` : 'a name is a word, or in double quotes'
  throw mistakeAt(part, at, `${character} has no place in sql here: ${advice}`)
}

/** SQLite ends the comment at a line feed only. */
function endOfLine(part: SqlPart, at: number): number {
  const { text, isLast } = part
  const end = text.indexOf('\n', at)
  if (end < 0 && !isLast) throw mistakeAt(part, at, 'a comment has no end before a value')
  const comment = text.slice(at, end < 0 ? text.length : end)
  if (comment.slice(0, -1).includes('\r') || (end < 0 && comment.endsWith('\r'))) {
    throw mistakeAt(part, at, 'a comment has a carriage return')
  }
  if (comment.includes('\0')) throw mistakeAt(part, at, 'a comment has the character 0')
  return end < 0 ? text.length : end
}

/** The databases differ in comments within comments. */
function endOfComment(part: SqlPart, at: number): number {
  const end = part.text.indexOf('*/', at + 2)
  if (end < 0) throw mistakeAt(part, at, 'a comment has no end')
  // The end of a comment can be the beginning of another: `/*/*/`.
  const comment = part.text.slice(at + 2, end + 1)
  if (comment.includes('/*')) throw mistakeAt(part, at, 'a comment is in a comment')
  if (comment.includes('\0')) throw mistakeAt(part, at, 'a comment has the character 0')
  return end + 2
}

/** Returns the position after brackets: a subscript, and a name for SQLite. */
function endOfSubscript(part: SqlPart, at: number): number {
  const end = part.text.indexOf(']', at)
  if (end >= 0 && SUBSCRIPT.test(part.text.slice(at + 1, end))) return end + 1
  throw mistakeAt(part, at, 'brackets have words, numbers, commas and colons')
}

/** Returns the position after a quoted text or name, in which a quote is doubled. */
function endOfQuotes(part: SqlPart, from: number): number {
  const { text } = part
  const quote = text[from]!
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\0') throw mistakeAt(part, at, 'quotes have the character 0')
    if (text[at] !== quote) continue
    if (text[at + 1] !== quote) return at + 1
    at++
  }
  throw mistakeAt(part, from, `quotes have no end; a value is \${…}, without quotes`)
}
