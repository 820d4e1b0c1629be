/**
 * The rows of a customer, from the declarations of the tables (§18.11): read page by page, and
 * deleted by their keys. Each page is a seek: along the key, or along an index that begins with the
 * column of the customer. A table without one is walked along its key, page by page. A page is
 * bounded by rows and by bytes.
 */
import type { Database, Reader, Statement, Value } from './database.ts'
import { bytesOf, countFitting } from './page-bytes.ts'
import { prepareStatement } from './sql.ts'
import type { Table } from './table.ts'

export interface CustomerPlace {
  readonly id: string
  readonly no: number
}

/** The rows of a customer, or of one of its modes. */
export interface OwnedPlace extends CustomerPlace {
  /** Default: the scopes of both modes. */
  readonly scope?: number
  /** Whether rows without a customer are read as well. */
  readonly hasUnowned?: boolean
}

/** A table with rows of customers. */
export interface OwnedTable
  extends Pick<
    Table,
    | 'name'
    | 'columns'
    | 'key'
    | 'belongs'
    | 'indexes'
    | 'apart'
    | 'followsRequests'
    | 'ofPerson'
    | 'hiddenInExports'
    | 'rowObjects'
  > {
  /** Columns that refer to rows of the same table; they become null before rows are deleted. */
  readonly selfReferences?: readonly string[]
}

/** A place in the rows: how many owners are done, and the last row of the present one. */
export interface RowPosition {
  readonly owner: number
  readonly after?: readonly Value[]
}

export interface RowPage {
  /** Values of the read columns. */
  readonly rows: readonly (readonly Value[])[]
  /** Undefined after the last row. */
  readonly next: RowPosition | undefined
}

/** Rows that a walk along the key examines at once. */
const WALKED_ROWS = 2_000

interface OwnerColumn {
  readonly column: string
  readonly values: (customer: OwnedPlace) => readonly (string | number)[]
  readonly outlives: boolean
}

/** Returns how a table names the customers of its rows; undefined for one of the installation. */
function ownerOf({ belongs }: OwnedTable): OwnerColumn | undefined {
  if (belongs === 'installation') return undefined
  const { scope, customer, customerNo, outlives = false } = belongs
  if (scope !== undefined) {
    const values = ({ no, scope: own }: OwnedPlace) => (own ? [own] : [no * 2, no * 2 + 1])
    return { column: scope, values, outlives }
  }
  const values = ({ id, no }: CustomerPlace) => [customer === undefined ? no : id]
  return { column: (customer ?? customerNo)!, values, outlives }
}

export const isOwned = (table: OwnedTable): boolean => ownerOf(table) !== undefined

/** Returns whether exports have the rows; others are records of the operator. */
export const isExported = (table: OwnedTable): boolean => ownerOf(table)?.outlives === false

/** The secret fields of resources, also of former ones, by resource. */
export type SecretFields = Readonly<Record<string, readonly string[]>>

interface ExportOptions {
  readonly secretFields: SecretFields
  /** The id of the person of the export; undefined: it is that of a customer. */
  readonly person?: string
}

/** Returns a row as the export of its customer or of a person has it. */
export function exportedRow(
  { columns, hiddenInExports = [], rowObjects }: OwnedTable,
  row: Readonly<Record<string, Value>>,
  { secretFields, person }: ExportOptions,
): Readonly<Record<string, Value>> {
  const hidden = new Set(
    hiddenInExports.flatMap(({ columns, isIn }) => (isIn(row, person) ? columns : [])),
  )
  const secrets = rowObjects ? (secretFields[String(row[rowObjects.resource])] ?? []) : []
  const entries = Object.entries(row).filter(([name]) => columns[name]!.content !== 'secret')
  const cellOf = (name: string, cell: Value): Value => {
    if (hidden.has(name)) return null
    return name === rowObjects?.column ? withoutMembers(String(cell), secrets) : cell
  }
  return Object.fromEntries(entries.map(([name, cell]) => [name, cellOf(name, cell)]))
}

/** Returns the text of a JSON object without members. */
function withoutMembers(text: string, names: readonly string[]): string {
  if (!names.some((name) => text.includes(JSON.stringify(name)))) return text
  const members = Object.entries(JSON.parse(text)).filter(([name]) => !names.includes(name))
  return JSON.stringify(Object.fromEntries(members))
}

/** Returns the columns after `column` of a unique order that begins with it; undefined: none. */
function orderWithin({ key, indexes = {} }: OwnedTable, column: string) {
  const unique = Object.values(indexes)
    .filter(({ where, only }) => where === undefined && only === undefined)
    .map(({ on, unique }) => ({ columns: on.split(', '), unique }))
    .filter(({ columns, unique }) => unique || key.every((name) => columns.includes(name)))
  return [{ columns: key }, ...unique]
    .find(({ columns }) => columns[0] === column)
    ?.columns.slice(1)
}

/** Returns whether an index has the rows with an owner, in the order of the key. */
const hasIndexOfOwned = ({ key, indexes = {} }: OwnedTable, column: string): boolean =>
  Object.values(indexes).some(
    ({ on, where, only }) =>
      only === undefined && where === `${column} IS NOT NULL` && on === [column, ...key].join(', '),
  )

/** Tables and columns of a team may have any name. */
const quote = (name: string) => `"${name.replaceAll('"', '""')}"`
const list = (columns: readonly string[]) => columns.map(quote).join(', ')
const tuple = (columns: readonly string[]) =>
  columns.length === 1 ? list(columns) : `(${list(columns)})`
const marks = (count: number) => (count === 1 ? '?' : `(${Array(count).fill('?').join(', ')})`)

/** Returns the SQL of cleared personal columns. */
const clearedForm = ({ columns }: OwnedTable): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(columns)
      .filter(([, { content }]) => content === 'personal')
      .map(([name, { fallback }]) => [name, fallback === undefined ? 'NULL' : `'${fallback}'`]),
  )

/** Reads and deletes the rows of a customer in one table. */
export class CustomerRows {
  readonly table: OwnedTable
  /** The columns of a page. */
  readonly columns: readonly string[]
  readonly #owner: OwnerColumn
  readonly #order: readonly string[]
  /** Which rows are walked along the key. */
  readonly #walked: 'none' | 'unowned' | 'all'
  /** The owner, the order and the key. */
  readonly #headColumns: readonly string[]

  /** @param columns - the columns to read, besides those that the order and the key need */
  constructor(table: OwnedTable, columns: readonly string[] = []) {
    this.table = table
    this.#owner = ownerOf(table)!
    const order = orderWithin(table, this.#owner.column)
    const isIndexed = hasIndexOfOwned(table, this.#owner.column)
    this.#walked = order ? 'none' : isIndexed ? 'unowned' : 'all'
    this.#order = order ?? table.key
    this.#headColumns = [...new Set([this.#owner.column, ...this.#order, ...table.key])]
    this.columns = [...new Set([...columns, ...this.#headColumns])]
  }

  /** Returns at most `limit` rows, as many as fit into a page of bytes. */
  async page(
    reader: Reader,
    customer: OwnedPlace,
    { owner, after }: RowPosition,
    limit: number,
  ): Promise<RowPage> {
    const owners = this.#owner.values(customer)
    const values = customer.hasUnowned ? [...owners, null] : owners
    const isWalk = this.#walked === 'all' || (this.#walked === 'unowned' && customer.hasUnowned)
    const read = isWalk ? values : [values[owner] ?? null]
    const size = isWalk ? WALKED_ROWS : limit
    const heads = await reader.arrays(this.#heads(isWalk ? [] : read, after, size))
    const at = this.#headColumns.indexOf(this.#owner.column)
    const isRead = (head: readonly Value[]) => read.some((value) => value === head[at])
    // Rows of others take no place in the page.
    const own = heads.flatMap((head, place) => (isRead(head) ? [place] : []))
    const count = Math.min(limit, countFitting(own.map((place) => Number(heads[place]!.at(-1)))))
    const passed = heads.slice(0, own[count] ?? heads.length)
    const last = passed.length < heads.length || heads.length === size ? passed.at(-1) : undefined
    const isLastOwner = isWalk || owner === values.length - 1
    const nextOwner = isLastOwner ? undefined : { owner: owner + 1 }
    const next = last ? { owner, after: this.#orderOf(last) } : nextOwner
    if (this.columns.every((column) => this.#headColumns.includes(column))) {
      return { rows: own.slice(0, count).map((place) => this.#cellsOf(heads[place]!)), next }
    }
    if (count === 0) return { rows: [], next }
    const end = this.#orderOf(passed.at(-1)!)
    return { rows: await reader.arrays(this.#rows(read, after, end)), next }
  }

  /** Returns the cells of a page whose columns are all in the head. */
  #cellsOf(head: readonly Value[]): Value[] {
    return this.columns.map((column) => head[this.#headColumns.indexOf(column)]!)
  }

  #orderOf(head: readonly Value[]): Value[] {
    return this.#order.map((column) => head[this.#headColumns.indexOf(column)]!)
  }

  /** Returns the statement that reads keys and bytes of rows, of all owners if none is given. */
  #heads(owners: readonly Value[], after: readonly Value[] | undefined, limit: number): Statement {
    const sized = this.columns
      .filter((name) => !this.#headColumns.includes(name))
      .map((name) => ({ name: quote(name), type: this.table.columns[name]!.kind }))
    const { where, values } = this.#inRange(owners, after)
    const bytes = bytesOf(sized)
    const select = (size: string) =>
      `SELECT ${list(this.#headColumns)}, ${size} FROM ${quote(this.table.name)} ` +
      `${where} ${this.#orderBy} LIMIT ?`
    return prepareStatement(select(bytes.postgres), select(bytes.sqlite))([...values, limit])
  }

  #rows(
    owners: readonly Value[],
    after: readonly Value[] | undefined,
    end: readonly Value[],
  ): Statement {
    const { where, values } = this.#inRange(owners, after, end)
    const from = `SELECT ${list(this.columns)} FROM ${quote(this.table.name)}`
    return prepareStatement(`${from} ${where} ${this.#orderBy}`)(values)
  }

  get #orderBy(): string {
    return this.#order.length > 0 ? `ORDER BY ${list(this.#order)}` : ''
  }

  /** Returns the condition of rows of the owners after a place, through `end`. */
  #inRange(
    owners: readonly Value[],
    after: readonly Value[] = [],
    end: readonly Value[] = [],
  ): { readonly where: string; readonly values: Value[] } {
    const conditions = [
      ...(owners.length > 0
        ? [`(${owners.map((value) => this.#isOwnedBy(value)).join(' OR ')})`]
        : []),
      ...(after.length > 0 ? [`${tuple(this.#order)} > ${marks(after.length)}`] : []),
      ...(end.length > 0 ? [`${tuple(this.#order)} <= ${marks(end.length)}`] : []),
    ]
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
    return { where, values: [...owners.filter((value) => value !== null), ...after, ...end] }
  }

  /** Returns the condition of rows of one owner, with a mark for an owner that is not null. */
  #isOwnedBy(owner: Value): string {
    return `${quote(this.#owner.column)} ${owner === null ? 'IS NULL' : '= ?'}`
  }

  /** Returns the statement that deletes rows of a page, or clears those that outlive it. */
  removal(rows: RowPage['rows'], database: Database['name']): Statement {
    if (this.#owner.outlives) return this.clearing(rows, database)
    const { where, values } = this.#oneOf(rows, database)
    return prepareStatement(`DELETE FROM ${quote(this.table.name)} WHERE ${where}`)(values)
  }

  /**
   * Returns the statement that clears columns of rows of a page.
   *
   * @param cleared - SQL by column. Default: the personal ones become null, or their default
   */
  clearing(
    rows: RowPage['rows'],
    database: Database['name'],
    cleared: Readonly<Record<string, string>> = clearedForm(this.table),
  ): Statement {
    const { name } = this.table
    const { where, values } = this.#oneOf(rows, database)
    const columns = Object.entries(cleared)
    const sets = columns.map(([column, form]) => `${column} = ${form}`)
    const differs = columns.map(([column, form]) => `${column} IS DISTINCT FROM ${form}`)
    const text =
      `UPDATE ${quote(name)} SET ${sets.join(', ')} ` +
      `WHERE ${where} AND (${differs.join(' OR ')})`
    return prepareStatement(text)(values)
  }

  /** Returns the statement that ends the references of rows of a page to rows of their table. */
  unlinking(rows: RowPage['rows'], database: Database['name']): Statement {
    const { name, selfReferences = [] } = this.table
    const { where, values } = this.#oneOf(rows, database)
    const sets = selfReferences.map((column) => `${quote(column)} = NULL`)
    return prepareStatement(`UPDATE ${quote(name)} SET ${sets.join(', ')} WHERE ${where}`)(values)
  }

  /**
   * Returns the condition of rows of a page, which have one owner. A list of single columns is a
   * scan of an index on PostgreSQL; one of tuples has a condition for each, which it plans.
   */
  #oneOf(rows: RowPage['rows'], database: Database['name']) {
    const within = this.table.key.filter((column) => column !== this.#owner.column)
    const key = within.length > 0 ? within : this.table.key
    const keys = Array<string>(rows.length).fill(marks(key.length)).join(', ')
    const isRows = key.length > 1 && database === 'sqlite'
    const [owner = null] = this.#valuesOf(rows[0]!, [this.#owner.column])
    const isRow = `${tuple(key)} IN (${isRows ? `VALUES ${keys}` : keys})`
    const keyValues = rows.flatMap((row) => this.#valuesOf(row, key))
    return {
      // The scope, so that Citus sends the statement to one server.
      where: `${this.#isOwnedBy(owner)} AND ${isRow}`,
      values: owner === null ? keyValues : [owner, ...keyValues],
    }
  }

  /** Returns the values of a column of a page. */
  valuesOf(rows: RowPage['rows'], column: string): Value[] {
    return rows.flatMap((row) => this.#valuesOf(row, [column]))
  }

  /** Divides the rows of a page by their owners: a statement names one. */
  byOwner(rows: RowPage['rows']): RowPage['rows'][] {
    const at = this.columns.indexOf(this.#owner.column)
    return [...Map.groupBy(rows, (row) => row[at]).values()]
  }

  #valuesOf(row: readonly Value[], columns: readonly string[]): Value[] {
    return columns.map((column) => row[this.columns.indexOf(column)]!)
  }
}
