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
  const mistakes: SourceLine[] = []
  const unscoped: SourceLine[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'IdentifierName' || tokens[index - 1]?.value === '.') continue
    if (token.value === names.unscopedSql && !isImported(tokens, index)) {
      unscoped.push({ line: token.line, sentence: 'unscopedSql' })
    }
    const mistake = token.value === names.sql && mistakeOf(tokens, index + 1, names.table)
    if (mistake) mistakes.push(mistake)
  }
  return { mistakes, unscoped, imports: importsOf(tokens) }
}

interface EngineNames {
  sql?: string
  table?: string
  unscopedSql?: string
}

/** Returns the local names of the imports from `gatehook`. */
function engineNames(tokens: readonly PlacedToken[]): EngineNames {
  const names: EngineNames = {}
  for (const [index, { value }] of tokens.entries()) {
    if (value !== 'import') continue
    const end = tokens.findIndex(({ type }, at) => at > index && type === 'StringLiteral')
    if (unquoted(tokens[end]?.value) !== 'gatehook') continue
    for (let at = index; at < end; at++) {
      const name = tokens[at]!.value
      if (name !== 'sql' && name !== 'table' && name !== 'unscopedSql') continue
      if (tokens[at - 1]?.value === 'as') continue
      names[name] = tokens[at + 1]?.value === 'as' ? tokens[at + 2]!.value : name
    }
  }
  return names
}

const unquoted = (text = ''): string => text.slice(1, -1)

/** Whether a name is in the braces of an import. */
function isImported(tokens: readonly PlacedToken[], index: number): boolean {
  let at = index
  while (tokens[at] && !['import', '{', '}', ';'].includes(tokens[at]!.value)) at--
  if (tokens[at]?.value === '{') at--
  while (tokens[at]?.value === 'type') at--
  return tokens[at]?.value === 'import'
}

/** Returns the mistake of the template that begins at a token; undefined for any other token. */
function mistakeOf(
  tokens: readonly PlacedToken[],
  start: number,
  table: string | undefined,
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
      texts.push(value.slice(1, type.endsWith('Head') || type.endsWith('Middle') ? -2 : -1))
      if (type === 'TemplateTail' || type === 'NoSubstitutionTemplate') break
      const [name, parenthesis] = [tokens[at + 1], tokens[at + 2]]
      const isTable = name?.value === table && parenthesis?.value === '('
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
