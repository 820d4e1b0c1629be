/**
 * The SQL of own code (§15.4): `sql` reads the rows that its context reaches, by `table(…)`;
 * `unscopedSql` reads and writes any table. Both turn values into parameters.
 */
import { relative } from 'node:path'
import type { Reader, Row, Statement, Tx } from '../../platform/storage/database.ts'
import { Sql } from '../../platform/storage/sql.ts'
import { findUnknownMembers } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec, Fields, RowOf } from '../../protocol/fields/fields.ts'
import { locationOf } from './call-site.ts'
import { checkSql } from './sql-check.ts'
import { SqlMistake } from './sql-tokens.ts'

/** A statement of own code, which `sql` or `unscopedSql` creates. */
export class OwnStatement extends Sql {
  readonly isUnscoped: boolean

  constructor(texts: readonly string[], values: readonly unknown[], isUnscoped: boolean) {
    super(texts, values)
    this.isUnscoped = isUnscoped
  }
}

/**
 * Creates a statement that reads `table(…)` and names of its own WITH:
 * `sql`SELECT sum(due) AS due FROM ${table(invoices)} WHERE status = ${status}``.
 */
export const sql = (texts: TemplateStringsArray, ...values: readonly unknown[]): OwnStatement =>
  new OwnStatement(texts, values, false)

/**
 * Creates a statement that reads and writes any table, of every customer and mode. `gatehook check`
 * lists its uses.
 */
export const unscopedSql = (
  texts: TemplateStringsArray,
  ...values: readonly unknown[]
): OwnStatement => new OwnStatement(texts, values, true)

/** The names of the fields with lists. */
type ListName<F extends Fields> = {
  [K in keyof F & string]: RowOf<F>[K] extends readonly unknown[] | null ? K : never
}[keyof F & string]

interface TableOptions<Lists extends string> {
  /** The name in the statement. Default: that of the resource. */
  readonly as?: string
  /** A field with `f.array(…)`: the table has a row for each item. */
  readonly items?: Lists
}

/** A table of a statement; `table(…)` creates one. */
export class TableReference {
  readonly resource: string
  readonly alias: string
  readonly items: string | undefined

  constructor(resource: string, { as = resource, items }: TableOptions<string>) {
    this.resource = resource
    this.alias = as
    this.items = items
  }
}

/** A resource. */
interface DeclaredTable<F extends Fields> {
  readonly fields: F
  readonly definition: {
    readonly name: string
    readonly fields: Readonly<Record<string, FieldSpec>>
  }
}

/** PostgreSQL truncates longer names. */
const ALIAS_BYTES_MAX = 63

/**
 * Returns the rows of a resource as a table of `sql`, after FROM or JOIN: those that `get` reaches,
 * without deleted ones. The columns are the fields in stored form: instants in milliseconds,
 * decimals in units of their last digit, booleans as 0 and 1, objects as JSON. With `items` each
 * item of a list is a row of its members (a plain value is `value`) and the id of its row,
 * `invoices_id`.
 */
export function table<F extends Fields>(
  { definition }: DeclaredTable<F>,
  options: TableOptions<NoInfer<ListName<F>>> = {},
): TableReference {
  const { name, fields } = definition
  const mistake = (sentence: string) => new Error(`table(${name}): ${sentence}`)
  const [unknown] = findUnknownMembers(options, { as: true, items: true })
  if (unknown !== undefined) throw mistake(unknown)
  const { as = name, items } = options
  if (as === '' || as.includes('\0') || Buffer.byteLength(as) > ALIAS_BYTES_MAX) {
    throw mistake(`as: a name has 1 to ${ALIAS_BYTES_MAX} bytes`)
  }
  const list = items === undefined ? undefined : fields[items]
  if (items !== undefined && (list?.kind !== 'list' || list.isWriteOnly)) {
    throw mistake(`items: ${items} is no f.array(…) that it can read`)
  }
  return new TableReference(name, options)
}

/** Reads by statements of `sql` and `unscopedSql`. */
export interface OwnReader {
  all<R extends Row = Row>(statement: OwnStatement): Promise<R[]>
  get<R extends Row = Row>(statement: OwnStatement): Promise<R | undefined>
  /** Returns rows as arrays in the order of the selected columns. */
  arrays(statement: OwnStatement): ReturnType<Reader['arrays']>
}

/** Reads by `sql`, and changes by `unscopedSql`, in one transaction. */
export interface OwnSqlTx extends OwnReader {
  /** Like `get`, and locks the row against changes until the transaction ends. */
  lock<R extends Row = Row>(statement: OwnStatement): Promise<R | undefined>
  /** Returns the number of changed rows. */
  run(statement: OwnStatement): Promise<number>
  /** Inserts one row and returns its generated `id`. The statement has no RETURNING clause. */
  insert(statement: OwnStatement): Promise<number>
  /**
   * Runs `change` in a savepoint: when it throws, its changes are undone, and code that catches the
   * error goes on: `tx.sql.attempt(() => tx.create(papers, values)).catch(note)`. Words beside it
   * wait for its end.
   */
  attempt<T>(change: () => Promise<T>): Promise<T>
  /** Registers a function that runs after the commit. */
  afterCommit(action: () => void): void
}

/** The tables of `table(…)` in a context. */
export interface ReachedTables {
  /** Returns the SQL of a table for the rows that the context reaches. */
  readonly expand: (table: TableReference) => Sql
  readonly columnsOf: (table: TableReference) => readonly string[]
}

export const createOwnReader = (reader: Reader, tables: ReachedTables): OwnReader => ({
  all: async (statement) => reader.all(readStatement(statement, tables)),
  get: async (statement) => reader.get(readStatement(statement, tables)),
  arrays: async (statement) => reader.arrays(readStatement(statement, tables)),
})

export const createOwnSqlTx = (tx: Tx, tables: ReachedTables): OwnSqlTx => ({
  ...createOwnReader(tx, tables),
  lock: async (statement) => tx.lock(readStatement(statement, tables)),
  run: async (statement) => tx.run(readStatement(statement, tables)),
  insert: async (statement) => tx.insert(readStatement(statement, tables)),
  attempt: (change) => tx.attempt(change),
  afterCommit: (action) => tx.afterCommit(action),
})

/** Returns the statement of the database. Throws for one that `sql` does not allow. */
function readStatement(statement: OwnStatement, { expand, columnsOf }: ReachedTables): Statement {
  if (!(statement instanceof OwnStatement)) {
    throw mistakeHere('a statement is sql`…` or unscopedSql`…`, imported from gatehook')
  }
  const { strings, values, isUnscoped } = statement
  try {
    const slotOf = (value: unknown) => (value instanceof TableReference ? 'table' : 'value')
    const tables = values.filter((value) => value instanceof TableReference)
    const columns = new Set(tables.flatMap(columnsOf))
    if (!isUnscoped) checkSql(strings, values.map(slotOf), true, columns)
  } catch (error) {
    throw error instanceof SqlMistake ? mistakeHere(error.message) : error
  }
  return new Sql(
    strings,
    values.map((value) => (value instanceof TableReference ? expand(value) : value)),
  )
}

/** Returns a mistake of the present call, with its file and line. */
function mistakeHere(sentence: string): Error {
  const error = new Error(sentence)
  const location = locationOf(error)
  const place = location === undefined ? '' : `${relative(process.cwd(), location)}: `
  error.message = `${place}sql: ${sentence}`
  return error
}
