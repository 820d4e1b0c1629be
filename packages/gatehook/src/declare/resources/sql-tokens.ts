/**
 * The tokens of a statement of own code, in the form that SQLite and PostgreSQL have in common.
 * Pure, in linear time.
 */

/** The part of a statement that is no text: a table, a value, or an expression of the source. */
export type SqlSlot = 'table' | 'value' | 'unknown'

export interface SqlToken {
  readonly kind: 'word' | 'quoted' | 'text' | 'number' | 'mark' | SqlSlot
  /** A word in lower case, a quoted name as it is, or the character of a mark. */
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
const SPACE = /\s+/y
const LINE_END = /[\r\n]/g

const lowered = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Returns the tokens of the texts of a template, with a slot between two of them. */
export function tokensOf(texts: readonly string[], slots: readonly SqlSlot[]): SqlToken[] {
  const tokens: SqlToken[] = []
  let at = 0
  for (const [index, text] of texts.entries()) {
    readTokens(text, at, tokens)
    at += text.length
    const slot = slots[index]
    if (slot !== undefined) tokens.push({ kind: slot, text: '', at })
  }
  return tokens
}

function readTokens(text: string, start: number, tokens: SqlToken[]): void {
  const match = (pattern: RegExp, at: number): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0]
  }
  for (let at = 0; at < text.length; ) {
    const add = (kind: SqlToken['kind'], value: string) =>
      tokens.push({ kind, text: value, at: start + at })
    const character = text[at]!
    const word = match(WORD, at)
    const number = match(NUMBER, at)
    const isEscaped = word !== undefined && /^e$/i.test(word) && text[at + 1] === "'"
    if (text.startsWith('--', at)) {
      LINE_END.lastIndex = at
      at = LINE_END.exec(text)?.index ?? text.length
    } else if (text.startsWith('/*', at)) {
      at = endOfComment(text, at, start)
    } else if (isEscaped || character === "'") {
      add('text', '')
      at = endOfQuotes(text, isEscaped ? at + 1 : at, start, isEscaped)
    } else if (character === '"' || character === '`') {
      const end = endOfQuotes(text, at, start, false)
      add('quoted', text.slice(at + 1, end - 1).replaceAll(character + character, character))
      at = end
    } else if (character === '$') {
      throw new SqlMistake(`$ has no place in sql: a value is \${…}`, start + at)
    } else if (word !== undefined) {
      add('word', lowered(word))
      at += word.length
    } else if (number !== undefined) {
      add('number', number)
      at += number.length
    } else {
      const space = match(SPACE, at)
      if (space === undefined) add('mark', character)
      at += space?.length ?? 1
    }
  }
}

/** The databases differ in comments within comments. */
function endOfComment(text: string, at: number, start: number): number {
  const end = text.indexOf('*/', at + 2)
  if (end < 0) throw new SqlMistake('a comment has no end', start + at)
  if (text.slice(at + 2, end).includes('/*'))
    throw new SqlMistake('a comment is in a comment', start + at)
  return end + 2
}

/** Returns the position after a quoted text or name, in which a quote is doubled. */
function endOfQuotes(text: string, from: number, start: number, isEscaped: boolean): number {
  const quote = text[from]!
  for (let at = from + 1; at < text.length; at++) {
    if (isEscaped && text[at] === '\\') at++
    else if (text[at] === quote) {
      if (text[at + 1] !== quote) return at + 1
      at++
    }
  }
  throw new SqlMistake(`quotes have no end; a value is \${…}, without quotes`, start + from)
}
