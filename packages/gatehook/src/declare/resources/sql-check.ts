/**
 * Verifies that a statement of `sql` reads `table(…)` and names of its own WITH, and nothing else
 * (§15.4). It follows parentheses and the words that begin or end a list of tables; names of
 * columns and aliases are not restricted. A statement that the databases would read in different
 * ways is rejected. Pure, in linear time.
 */
import { isReadingFunction, isSqlKeyword } from './sql-functions.ts'
import { SqlMistake, type SqlSlot, type SqlToken, tokensOf } from './sql-tokens.ts'

/** A list of WITH: its part that comes next. */
interface WithList {
  next: 'name' | 'as' | 'body' | 'in body' | 'query'
  name: string
  isRecursive: boolean
}

/** The statement, or a part in parentheses. */
interface SqlFrame {
  /** The word before the parenthesis. */
  readonly opener: string
  /** Whether the parentheses have the arguments of a function. */
  readonly isCall: boolean
  /** Whether the frame begins as a query must, at its first token. */
  isQuery: boolean
  isFresh: boolean
  /** Whether a comma separates tables. */
  inTables: boolean
  /** Whether a table comes next. */
  wantsTable: boolean
  readonly names: Set<string>
  list: WithList | undefined
}

const newFrame = (
  isQuery: boolean,
  wantsTable: boolean,
  opener = '',
  isCall = false,
): SqlFrame => ({
  opener,
  isCall,
  isQuery,
  isFresh: true,
  inTables: wantsTable,
  wantsTable,
  names: new Set(),
  list: undefined,
})

const QUERY_WORDS = new Set(['select', 'values', 'with'])
const CHANGE_WORDS = new Set([
  ...['alter', 'call', 'copy', 'create', 'delete', 'do', 'drop', 'explain', 'insert', 'merge'],
  ...['pragma', 'replace', 'set', 'truncate', 'update'],
])
const TABLE_ENDS = new Set([
  ...['except', 'group', 'having', 'intersect', 'limit', 'order', 'union', 'where'],
])
/** The words that can follow a table. */
const AFTER_TABLE = new Set([
  ...TABLE_ENDS,
  ...['cross', 'fetch', 'for', 'full', 'inner', 'join', 'left', 'natural', 'offset', 'on'],
  ...['right', 'using', 'window'],
])
/** The words that denote no table by their name. */
const NOT_TABLES = new Set([...AFTER_TABLE, ...QUERY_WORDS, 'lateral', 'only', 'table'])
/** Functions with FROM between their arguments. */
const FROM_FUNCTIONS = new Set(['extract', 'overlay', 'substring', 'trim'])
/** The words before `DISTINCT FROM`. */
const DISTINCT_FROM = new Set(['is', 'not'])
/** The words between AS and the query of WITH. */
const BODY_WORDS = new Set(['materialized', 'not'])
const LOCK_WORDS = new Set(['key', 'no', 'share', 'update'])

const ESCAPE = 'or take unscopedSql, which reads every customer'

/**
 * Throws `SqlMistake` for the first mistake.
 *
 * @param isWhole false for a template of the source, which can be a part of a statement
 * @param columns the columns of the tables; undefined: of the source, where they are unknown
 */
export function checkSql(
  texts: readonly string[],
  slots: readonly SqlSlot[],
  isWhole: boolean,
  columns?: ReadonlySet<string>,
): void {
  const tokens = tokensOf(texts, slots)
  const [first] = tokens
  if (first && isWord(first, CHANGE_WORDS)) throw notReading(first)
  const isFragment = !isWhole && !isWord(first, QUERY_WORDS)
  const state = { tokens, frames: [newFrame(!isFragment, false)], isFragment, closed: '' }
  for (let index = 0; index < tokens.length; index++) checkToken(state, index)
  if (isWhole && tokens.length > 0) checkEnd(state, tokens.at(-1)!)
  if (columns) checkMembers(tokens, columns)
}

const isMember = (tokens: readonly SqlToken[], index: number): boolean =>
  isName(tokens[index]!) && isMark(tokens[index - 1], '.')

/**
 * Checks that each member can be a column: PostgreSQL reads `row.name` as `name(row)` where no
 * column has the name. It is one of a table, or a name that the statement has elsewhere.
 */
function checkMembers(tokens: readonly SqlToken[], columns: ReadonlySet<string>): void {
  const folded = ({ text }: SqlToken) => text.toLowerCase()
  const isOwn = (token: SqlToken, index: number) =>
    isName(token) &&
    !isMember(tokens, index) &&
    !isMark(tokens[index + 1], '(') &&
    !isMark(tokens[index + 1], '.')
  const names = new Set([...columns].map((name) => name.toLowerCase()))
  for (const token of tokens.filter(isOwn)) names.add(folded(token))
  for (const [index, token] of tokens.entries()) {
    if (!isMember(tokens, index)) continue
    if (names.has(folded(token)) || isReadingFunction(token.text)) continue
    throw new SqlMistake(`${token.text} is no column of a table of the statement`, token.at)
  }
}

function checkEnd({ frames }: CheckState, { at }: SqlToken): void {
  if (frames.length > 1) throw new SqlMistake('a parenthesis has no end', at)
  const { list, wantsTable } = frames[0]!
  if (list) throw new SqlMistake('WITH has no query', at)
  if (wantsTable) throw new SqlMistake('a table is absent at the end', at)
}

interface CheckState {
  readonly tokens: readonly SqlToken[]
  readonly frames: SqlFrame[]
  /** A part of a statement: it can continue a list of tables. */
  readonly isFragment: boolean
  /** The word before the parentheses that ended last. */
  closed: string
}

const isWord = (token: SqlToken | undefined, words: ReadonlySet<string>): boolean =>
  token?.kind === 'word' && words.has(token.text)

const isMark = (token: SqlToken | undefined, mark: string): boolean =>
  token?.kind === 'mark' && token.text === mark

const isThe = (token: SqlToken | undefined, word: string): boolean =>
  token?.kind === 'word' && token.text === word

const isName = ({ kind }: SqlToken): boolean => kind === 'word' || kind === 'quoted'

const notReading = ({ at }: SqlToken): SqlMistake =>
  new SqlMistake(
    'sql reads: a statement begins with SELECT, VALUES or WITH. Write rows with tx, ' +
      'and tables of your own with unscopedSql',
    at,
  )

/** A column of PostgreSQL can have the name `values`. */
const isQueryStart = (tokens: readonly SqlToken[], index: number): boolean =>
  isWord(tokens[index], QUERY_WORDS) &&
  (!isThe(tokens[index], 'values') ||
    isMark(tokens[index + 1], '(') ||
    tokens[index + 1]?.kind === 'unknown')

function checkToken(state: CheckState, index: number): void {
  const { tokens, frames, isFragment } = state
  const token = tokens[index]!
  const frame = frames.at(-1)!
  const { isFresh } = frame
  frame.isFresh = false
  const isQueryWord = isQueryStart(tokens, index)
  if (isFresh && frame.isQuery && !isQueryWord && !isMark(token, '(') && token.kind !== 'unknown') {
    throw notReading(token)
  }
  if (isMark(token, ';') && index < tokens.length - 1) {
    throw new SqlMistake('sql has one statement', token.at)
  }
  if (frame.list && readWithList(state, frame, frame.list, index)) return
  if (isFresh && isQueryWord) frame.inTables = frame.wantsTable = false
  if (isFresh && isThe(token, 'with')) {
    // SQLite reads it as a column among the arguments of a function.
    if (frame.isCall) throw new SqlMistake('WITH begins a query', token.at)
    frame.list = { next: 'name', name: '', isRecursive: false }
  } else if (isMark(token, '(')) openFrame(state, frame, index)
  else if (isMark(token, ')')) closeFrame(state, token)
  else if (frame.wantsTable) checkTable(state, frame, index)
  else if (token.kind === 'table') {
    if (isFragment) return
    throw new SqlMistake('table(…) follows FROM, JOIN or a comma between tables', token.at)
  } else if (isMark(token, ',')) frame.wantsTable = frame.inTables
  else if (isName(token)) checkName(state, frame, index)
}

/** Reads the part of WITH before its query. Returns false for a token that needs more. */
function readWithList(
  { tokens, frames }: CheckState,
  frame: SqlFrame,
  list: WithList,
  index: number,
): boolean {
  const token = tokens[index]!
  const next = tokens[index + 1]
  if (list.next === 'name') {
    const isRecursive = isThe(token, 'recursive') && next !== undefined && isName(next)
    if (isRecursive && !isThe(next, 'as')) list.isRecursive = true
    else if (!isName(token)) throw new SqlMistake('WITH has no name here', token.at)
    else {
      list.name = token.text
      list.next = 'as'
      // A name without RECURSIVE denotes a table of the database in its own query.
      if (list.isRecursive) frame.names.add(list.name)
    }
    return true
  }
  if (list.next === 'as' || list.next === 'body') {
    const isBody = list.next === 'body'
    if (isMark(token, '(')) {
      frames.push(newFrame(isBody, false))
      if (isBody) list.next = 'in body'
    } else if (!isBody && isThe(token, 'as')) list.next = 'body'
    else if (!isBody || !isName(token) || !BODY_WORDS.has(token.text)) {
      throw new SqlMistake('WITH has a name, AS and a query in parentheses', token.at)
    }
    return true
  }
  if (isMark(token, ',')) {
    list.next = 'name'
    return true
  }
  const isQuery = isQueryStart(tokens, index) && !isThe(token, 'with')
  if (!isMark(token, '(') && !isQuery) throw notReading(token)
  frame.list = undefined
  return false
}

function openFrame(state: CheckState, frame: SqlFrame, index: number): void {
  const { tokens, frames } = state
  const before = tokens[index - 1]
  if (before && isMark(before, '[]')) {
    throw new SqlMistake('a function has its name without brackets', before.at)
  }
  const opener = before?.kind === 'word' ? before.text : ''
  const isCall = before !== undefined && isName(before) && !isKeyword(state, index - 1)
  frames.push(newFrame(false, frame.wantsTable, opener, isCall))
  frame.wantsTable = false
}

function closeFrame(state: CheckState, { at }: SqlToken): void {
  const { frames } = state
  if (frames.length === 1) throw new SqlMistake('a parenthesis has no beginning', at)
  state.closed = frames.pop()!.opener
  const frame = frames.at(-1)!
  if (frame.list?.next !== 'in body') return
  frame.names.add(frame.list.name)
  frame.list.next = 'query'
}

/** Checks a token in the place of a table. */
function checkTable({ tokens, frames }: CheckState, frame: SqlFrame, index: number): void {
  const token = tokens[index]!
  const next = tokens[index + 1]
  // SQLite has no LATERAL: it reads a table with this name.
  if (isThe(token, 'lateral') && (next?.kind === 'table' || isMark(next, '('))) return
  frame.wantsTable = false
  if (token.kind === 'unknown') return
  if (token.kind === 'table') {
    const follows = next && (isName(next) || isMark(next, '(') || isMark(next, '.'))
    if (!follows || isWord(next, AFTER_TABLE)) return
    throw new SqlMistake("the name of a table is its option: table(…, { as: 'name' })", next.at)
  }
  const canBeOwn = isName(token) && !isWord(token, NOT_TABLES)
  const isOwn = canBeOwn && frames.some(({ names }) => names.has(token.text))
  if (isOwn && !isMark(next, '(') && !isMark(next, '.')) return
  const isCall = isName(token) && isMark(next, '(')
  const name = isName(token) ? token.text : 'this'
  throw new SqlMistake(
    isCall
      ? `${name}(…) is no table of sql: take table(…), ${ESCAPE}`
      : `${name} is no table of sql: write \${table(${name === 'this' ? '…' : name})}, ${ESCAPE}`,
    token.at,
  )
}

/** Whether the word before a parenthesis is a keyword. */
function isKeyword({ tokens, closed }: CheckState, index: number): boolean {
  const { kind, text } = tokens[index]!
  const before = tokens[index - 1]
  // An expression, and with it a function, can follow `DISTINCT ON (a)`.
  const last = isMark(before, ')') && closed === 'on' ? '' : (before?.text ?? '')
  return kind === 'word' && isSqlKeyword(text, [tokens[index - 2]?.text ?? '', last])
}

/** Checks a keyword, a name or a call of a function. */
function checkName(state: CheckState, frame: SqlFrame, index: number): void {
  const { tokens } = state
  const token = tokens[index]!
  const before = tokens[index - 1]
  const isCall = isMark(tokens[index + 1], '(')
  const isOfName = isMember(tokens, index)
  if (isOfName && !canHaveMembers(tokens, index - 2)) {
    throw new SqlMistake(`.${token.text} follows the name of a table only`, token.at)
  }
  // A type, a label or an alias with columns is after AS, and a type after `::`.
  if (isThe(before, 'as') || isMark(before, '::') || (isOfName && !isCall)) return
  if (token.kind === 'word') checkWord(tokens, frame, index)
  // `(VALUES (1)) v(n)`.
  const isAlias = frame.inTables && isMark(before, ')') && token.text !== 'operator'
  if (!isCall || isKeyword(state, index) || isAlias || (isReadingFunction(token.text) && !isOfName))
    return
  throw new SqlMistake(`${token.text}(…) is no function of sql, ${ESCAPE}`, token.at)
}

/** PostgreSQL reads `(value).name`, `$1.name` and `a[1].name` as calls of functions, too. */
const canHaveMembers = (tokens: readonly SqlToken[], index: number): boolean => {
  const token = tokens[index]
  if (token === undefined || token.kind === 'unknown') return true
  return isName(token) && !isMark(tokens[index - 1], '::')
}

function checkWord(tokens: readonly SqlToken[], frame: SqlFrame, index: number): void {
  const token = tokens[index]!
  const { text, at } = token
  if (text === 'select') {
    frame.isQuery = true
    frame.inTables = frame.wantsTable = false
  } else if (text === 'from') {
    const isComparison =
      isThe(tokens[index - 1], 'distinct') && isWord(tokens[index - 2], DISTINCT_FROM)
    const isArgument = !frame.isQuery && FROM_FUNCTIONS.has(frame.opener)
    if (!isComparison && !isArgument) frame.inTables = frame.wantsTable = true
  } else if (text === 'join') frame.inTables = frame.wantsTable = true
  else if (endsTables(tokens, index)) frame.inTables = false
  else if (text === 'into' || text === 'table') throw notReading(token)
  else if (text === 'in' && !isMark(tokens[index + 1], '(') && frame.opener !== 'position') {
    throw new SqlMistake('IN has a list or a query in parentheses', at)
  }
}

const isNameAt = (tokens: readonly SqlToken[], index: number): boolean =>
  tokens[index] !== undefined && isName(tokens[index])

const endsTables = (tokens: readonly SqlToken[], index: number): boolean =>
  isWord(tokens[index], TABLE_ENDS) ||
  (isThe(tokens[index], 'window') &&
    isNameAt(tokens, index + 1) &&
    isThe(tokens[index + 2], 'as')) ||
  (isThe(tokens[index], 'for') && isWord(tokens[index + 1], LOCK_WORDS))
