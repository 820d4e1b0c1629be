/**
 * Reads the `sql` templates of source files (§15.4): the tables that they may not name, and each
 * use of `unscopedSql`. An expression of a template is a value, `table(…)`, or unknown. Pure.
 */
import jsTokens, { type Token } from 'js-tokens'
import { checkSql } from '../resources/sql-check.ts'
import { SqlMistake, type SqlSlot } from '../resources/sql-tokens.ts'

/** A line of a source file, with a sentence. */
interface SourceLine {
  readonly line: number
  readonly sentence: string
}

interface SqlUses {
  readonly mistakes: readonly SourceLine[]
  readonly unscoped: readonly SourceLine[]
  /** The modules that the file imports. */
  readonly imports: readonly string[]
}

type PlacedToken = Token & { readonly line: number }

const SKIPPED = new Set([
  ...['HashbangComment', 'LineTerminatorSequence', 'MultiLineComment', 'SingleLineComment'],
  'WhiteSpace',
])

const lineBreaks = (text: string): number => text.split('\n').length - 1

function placedTokens(source: string): PlacedToken[] {
  const tokens: PlacedToken[] = []
  let line = 1
  for (const token of jsTokens(source)) {
    if (!SKIPPED.has(token.type)) tokens.push({ ...token, line })
    line += lineBreaks(token.value)
  }
  return tokens
}

export function readSqlUses(source: string): SqlUses {
  const tokens = placedTokens(source)
  const names = engineNames(tokens)
  const { all, opaque } = namespacesOf(tokens)
  const mistakes: SourceLine[] = []
  const unscoped: SourceLine[] = []
  for (const [index, token] of tokens.entries()) {
    if (opaque.has(index) || isUnscoped(tokens, index, names)) {
      unscoped.push({ line: token.line, sentence: 'unscopedSql' })
    }
    const isSql = isWordOf(tokens, index, names.sql, 'sql', all)
    const mistake = isSql && mistakeOf(tokens, index + 1, names, all)
    if (mistake) mistakes.push(mistake)
  }
  return { mistakes, unscoped, imports: importsOf(tokens) }
}

/** The local names of the words of the engine. */
type EngineNames = Readonly<Record<EngineWord, Set<string>>>

type EngineWord = 'sql' | 'table' | 'unscopedSql'

const isEngineWord = (word: string): word is EngineWord =>
  word === 'sql' || word === 'table' || word === 'unscopedSql'

/** Returns the local names of the imports from `gatehook`. */
function engineNames(tokens: readonly PlacedToken[]): EngineNames {
  const names = { sql: new Set<string>(), table: new Set<string>(), unscopedSql: new Set<string>() }
  for (const [index, { value }] of tokens.entries()) {
    if (value !== 'import') continue
    const end = sourceOf(tokens, index)
    if (unquoted(tokens[end]?.value) !== 'gatehook') continue
    for (let at = index; at < end; at++) {
      const name = nameOf(tokens[at]!)
      if (!isEngineWord(name) || tokens[at - 1]?.value === 'as') continue
      names[name].add(tokens[at + 1]?.value === 'as' ? tokens[at + 2]!.value : name)
    }
  }
  return names
}

/** Returns the position of the module of an import or export; -1 for another statement. */
function sourceOf(tokens: readonly PlacedToken[], index: number): number {
  for (let at = index + 1; at < tokens.length; at++) {
    const { type, value } = tokens[at]!
    if (value === ';' || value === '(' || value === '=') return -1
    const before = tokens[at - 1]!.value
    if (type === 'StringLiteral' && (before === 'from' || before === 'import')) return at
  }
  return -1
}

const unquoted = (text = ''): string => text.slice(1, -1)

/** Returns a name, which imports and members can have in quotes. */
const nameOf = ({ type, value }: PlacedToken): string =>
  type === 'StringLiteral' || type === 'NoSubstitutionTemplate' ? unquoted(value) : value

interface Namespaces {
  /** The names of `import * as name from 'gatehook'`. */
  readonly all: ReadonlySet<string>
  /** Where a file passes on every word of the engine. */
  readonly opaque: ReadonlySet<number>
}

/** Finds the words of the engine without their names: namespaces, `export *` and `import(…)`. */
function namespacesOf(tokens: readonly PlacedToken[]): Namespaces {
  const all = new Set<string>()
  const opaque = new Set<number>()
  const declarations = new Set<number>()
  for (const [index, token] of tokens.entries()) {
    if (nameOf(token) !== 'gatehook' || token.type === 'IdentifierName') continue
    const before = tokens[index - 1]?.value
    if (before === '(') opaque.add(index)
    if (before !== 'from') continue
    if (tokens[index - 2]?.value === '*') opaque.add(index)
    if (tokens[index - 3]?.value !== 'as' || tokens[index - 4]?.value !== '*') continue
    if (tokens[index - 5]?.value === 'export') opaque.add(index)
    else {
      all.add(tokens[index - 2]!.value)
      declarations.add(index - 2)
    }
  }
  for (const [index, { type, value }] of tokens.entries()) {
    const isUse = type === 'IdentifierName' && all.has(value) && !declarations.has(index)
    if (isUse && tokens[index - 1]?.value !== '.' && tokens[index + 1]?.value !== '.') {
      opaque.add(index)
    }
  }
  return { all, opaque }
}

/** Whether a token is a word of the engine, by its local name or as a member of a namespace. */
function isWordOf(
  tokens: readonly PlacedToken[],
  index: number,
  names: ReadonlySet<string>,
  word: EngineWord,
  all: ReadonlySet<string>,
): boolean {
  const { type, value } = tokens[index]!
  if (type !== 'IdentifierName') return false
  if (tokens[index - 1]?.value !== '.') return names.has(value)
  return value === word && all.has(tokens[index - 2]?.value ?? '')
}

/** Whether a token is `unscopedSql`: imported, exported, a member, or in quotes. */
function isUnscoped(tokens: readonly PlacedToken[], index: number, names: EngineNames): boolean {
  const token = tokens[index]!
  const isName = token.type === 'IdentifierName'
  const isLocal = isName && names.unscopedSql.has(token.value) && tokens[index - 1]?.value !== '.'
  return (isLocal || nameOf(token) === 'unscopedSql') && !isImported(tokens, index)
}

/** Whether a name is in the braces of an import from `gatehook`. */
function isImported(tokens: readonly PlacedToken[], index: number): boolean {
  let at = index
  while (tokens[at] && !['import', '{', '}', ';'].includes(tokens[at]!.value)) at--
  if (tokens[at]?.value === '{') at--
  while (tokens[at]?.value === 'type') at--
  if (tokens[at]?.value !== 'import') return false
  const end = sourceOf(tokens, at)
  return index < end && unquoted(tokens[end]!.value) === 'gatehook'
}

/** Returns the text of a template. White space that is escaped is a space, to keep the lines. */
const unescaped = (text: string): string =>
  text.replace(/\\([\s\S])/g, (_, next: string) => ('nrt'.includes(next) ? ' ' : next))

/** Returns the mistake of the template that begins at a token; undefined for any other token. */
function mistakeOf(
  tokens: readonly PlacedToken[],
  start: number,
  names: EngineNames,
  all: ReadonlySet<string>,
): SourceLine | undefined {
  const texts: string[] = []
  const slots: SqlSlot[] = []
  let depth = 0
  for (let at = start; at < tokens.length; at++) {
    const { type, value } = tokens[at]!
    const isText = type.endsWith('Template') || type.startsWith('Template')
    if (at === start && (!isText || type === 'TemplateTail')) return undefined
    if (!isText || (type === 'NoSubstitutionTemplate' && at > start)) continue
    if (type === 'TemplateHead' && at > start) depth++
    else if (depth > 0) depth -= type === 'TemplateTail' ? 1 : 0
    else {
      const end = type.endsWith('Head') || type.endsWith('Middle') ? -2 : -1
      texts.push(unescaped(value.slice(1, end)))
      if (type === 'TemplateTail' || type === 'NoSubstitutionTemplate') break
      // `table(` or `namespace.table(`.
      const name = tokens[at + 2]?.value === '.' ? at + 3 : at + 1
      const isCall = tokens[name + 1]?.value === '('
      const isTable = isCall && isWordOf(tokens, name, names.table, 'table', all)
      slots.push(isTable ? 'table' : 'unknown')
    }
  }
  try {
    checkSql(texts, slots, false)
    return undefined
  } catch (error) {
    if (!(error instanceof SqlMistake)) throw error
    const before = texts.join('').slice(0, error.at)
    return { line: tokens[start]!.line + lineBreaks(before), sentence: `sql: ${error.message}` }
  }
}

function importsOf(tokens: readonly PlacedToken[]): string[] {
  return tokens.flatMap(({ type, value }, at) => {
    const before = tokens[at - 1]?.value
    const isCall = before === '(' && tokens[at - 2]?.value === 'import'
    const isSource = before === 'from' || before === 'import' || isCall
    return type === 'StringLiteral' && isSource ? [unquoted(value)] : []
  })
}
