/**
 * Decides by PostgreSQL's own parser whether a statement is bound to one scope: each table with a
 * column `scope` has the condition `scope = $n`, or equals the scope of a table that has it.
 */
import { parseSync } from 'libpg-query'

type SyntaxNode = Record<string, unknown>

/** A table in a FROM clause, or the target of a change. */
interface TableUse {
  readonly table: string
  readonly alias: string
}

/** One query with its own FROM and WHERE; those around it are its parents. */
interface QueryLevel {
  readonly tables: readonly TableUse[]
  readonly bound: Set<string>
  readonly parent: QueryLevel | undefined
}

interface ScopeReport {
  readonly names: ReadonlySet<string>
  readonly roots: readonly string[]
  readonly unbound: Set<string>
  readonly touched: Set<string>
}

export interface ScopeBinding {
  /** Tables with a scope that no condition binds. */
  readonly unbound: readonly string[]
  /** All tables of the statement. */
  readonly tables: readonly string[]
}

const isNode = (value: unknown): value is SyntaxNode => typeof value === 'object' && value !== null
const nodeOf = (value: unknown, name: string): SyntaxNode | undefined =>
  isNode(value) && isNode(value[name]) ? value[name] : undefined
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const QUERIES = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt']

/**
 * Reads one or several statements.
 *
 * @param scoped - the tables with a column `scope`
 * @param roots - tables in which a statement may find its scope: others must equal theirs
 */
export function readScopeBinding(
  text: string,
  scoped: ReadonlySet<string>,
  roots: readonly string[] = [],
): ScopeBinding {
  const tree = parseSync(text) as { stmts?: { stmt: SyntaxNode }[] }
  const names = new Set<string>()
  collectNames(tree.stmts, names)
  const report: ScopeReport = { unbound: new Set(), touched: new Set(), names, roots }
  for (const { stmt } of tree.stmts ?? []) visit(stmt, undefined, scoped, report)
  return { unbound: [...report.unbound].sort(), tables: [...report.touched].sort() }
}

/** Collects the names of WITH queries, whose own levels are reported. */
function collectNames(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectNames(item, names)
  else if (isNode(value)) {
    const name = nodeOf(value, 'CommonTableExpr')?.ctename
    if (name !== undefined) names.add(String(name))
    collectNames(Object.values(value), names)
  }
}

/** Visits nested queries with the level around them. */
function visit(
  value: unknown,
  parent: QueryLevel | undefined,
  scoped: ReadonlySet<string>,
  report: ScopeReport,
): void {
  if (Array.isArray(value)) for (const item of value) visit(item, parent, scoped, report)
  else if (isNode(value)) {
    for (const [name, child] of Object.entries(value)) {
      const level =
        QUERIES.includes(name) && isNode(child)
          ? levelOf(name, child, { ...report, parent })
          : undefined
      if (level) reportLevel(level, scoped, report)
      visit(child, level ?? parent, scoped, report)
    }
  }
}

function reportLevel(level: QueryLevel, scoped: ReadonlySet<string>, report: ScopeReport): void {
  for (const { table, alias } of level.tables) {
    report.touched.add(table)
    if (scoped.has(table) && !level.bound.has(alias)) report.unbound.add(table)
  }
}

interface LevelContext extends Pick<ScopeReport, 'names' | 'roots'> {
  readonly parent: QueryLevel | undefined
}

function levelOf(
  kind: string,
  query: SyntaxNode,
  { parent, names, roots }: LevelContext,
): QueryLevel {
  const tables: TableUse[] = []
  const conditions: unknown[] = [query.whereClause]
  const target = isNode(query.relation) ? tableOf(query.relation) : undefined
  for (const item of [...listOf(query.fromClause), ...listOf(query.usingClause)]) {
    collectTables(item, tables, conditions)
  }
  const bound = new Set<string>()
  if (target) {
    tables.push(target)
    const columns = listOf(query.cols).map((column) => nodeOf(column, 'ResTarget')?.name)
    if (kind === 'InsertStmt' && columns.includes('scope')) bound.add(target.alias)
  }
  const own = tables.filter(({ table }) => !names.has(table))
  for (const { table, alias } of own) if (roots.includes(table)) bound.add(alias)
  const level = { tables: own, bound, parent }
  const pairs = conditions.flatMap((condition) => scopePairs(condition, tables))
  // A table that equals a bound one is bound, in any order of the conditions.
  for (let size = -1; size !== bound.size; ) {
    size = bound.size
    for (const [a, b] of pairs) {
      if (isBound(b, level)) bound.add(a)
      if (isBound(a, level)) bound.add(b)
    }
  }
  return level
}

const PARAMETER = '$'

/** A parameter is bound, and so are names of subqueries, whose own levels are reported. */
function isBound(alias: string, level: QueryLevel | undefined): boolean {
  if (alias === PARAMETER || !level) return true
  if (level.tables.some((use) => use.alias === alias)) return level.bound.has(alias)
  return isBound(alias, level.parent)
}

const tableOf = (relation: SyntaxNode): TableUse => {
  const table = String(relation.relname)
  return { table, alias: isNode(relation.alias) ? String(relation.alias.aliasname) : table }
}

function collectTables(item: unknown, tables: TableUse[], conditions: unknown[]): void {
  const relation = nodeOf(item, 'RangeVar')
  if (relation) tables.push(tableOf(relation))
  const join = nodeOf(item, 'JoinExpr')
  if (!join) return
  conditions.push(join.quals)
  const first = tables.length
  collectTables(join.larg, tables, conditions)
  const second = tables.length
  collectTables(join.rarg, tables, conditions)
  const columns = listOf(join.usingClause).map((name) => nodeOf(name, 'String')?.sval)
  if (!columns.includes('scope')) return
  conditions.push({ using: [tables[first]?.alias, tables[second]?.alias] })
}

/** Returns the equalities of scopes that hold for every row: those joined by AND. */
function scopePairs(condition: unknown, tables: readonly TableUse[]): [string, string][] {
  if (!isNode(condition)) return []
  if (Array.isArray(condition.using)) return [condition.using as [string, string]]
  const and = nodeOf(condition, 'BoolExpr')
  if (and?.boolop === 'AND_EXPR') {
    return listOf(and.args).flatMap((argument) => scopePairs(argument, tables))
  }
  const comparison = nodeOf(condition, 'A_Expr')
  const operator = nodeOf(listOf(comparison?.name)[0], 'String')?.sval
  if (comparison?.kind !== 'AEXPR_OP' || operator !== '=') return []
  const a = scopeSide(comparison.lexpr, tables)
  const b = scopeSide(comparison.rexpr, tables)
  return a !== undefined && b !== undefined ? [[a, b]] : []
}

/** Returns the alias whose scope an expression is, or that it is a parameter. */
function scopeSide(expression: unknown, tables: readonly TableUse[]): string | undefined {
  const cast = nodeOf(expression, 'TypeCast')
  if (cast) return scopeSide(cast.arg, tables)
  if (nodeOf(expression, 'ParamRef')) return PARAMETER
  const fields = listOf(nodeOf(expression, 'ColumnRef')?.fields)
  const names = fields.map((field) => String(nodeOf(field, 'String')?.sval))
  if (names.at(-1) !== 'scope') return undefined
  return names.length > 1 ? names.at(-2) : tables[0]?.alias
}
