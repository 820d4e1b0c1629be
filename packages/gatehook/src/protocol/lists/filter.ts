/**
 * Filters: `status=paid`, `amount[gte]=100`, `currency[in]=EUR,USD`, `note[null]=true`,
 * `name[prefix]=A`, `name[contains]=a` and `metadata[key]=value` over declared columns (§7.7).
 * Pure.
 */

import { findClosest, oneOfWords } from '../../kernel/closest.ts'
import { idWords, isPrefixedId } from '../../kernel/row-id.ts'
import { foldName } from '../fields/folding.ts'
import type { ListCell } from '../fields/kind.ts'
import { emptyClause } from '../fields/reading.ts'
import { parameterFailure, plusClause } from '../http/query.ts'
import { type Collection, type ListColumn, type View, wireName } from './collection.ts'
import { cellOf } from './encode.ts'
import { readValueList } from './value-list.ts'

interface FilterOperator {
  /** Values are always parameters. */
  readonly sql: string
  /** The predicate of a field in documents: `amount` is less than this value. */
  readonly words: string
  /** The rows that it selects, in the guide of the API. */
  readonly selects: string
  /** Whether it compares the order of values. */
  readonly isRange?: true
  /** Whether it takes several values, separated by commas. */
  readonly isList?: true
}

/** The operators in brackets; `eq` has the bare name. */
export const OPERATORS = {
  eq: { sql: '=', words: 'is this value', selects: 'equal values' },
  ne: {
    sql: 'IS DISTINCT FROM',
    words: 'differs from this value',
    selects: 'other values, null included',
  },
  gt: {
    sql: '>',
    words: 'is greater than this value',
    selects: 'larger values',
    isRange: true,
  },
  gte: {
    sql: '>=',
    words: 'is this value or greater',
    selects: 'this value and larger ones',
    isRange: true,
  },
  lt: { sql: '<', words: 'is less than this value', selects: 'smaller values', isRange: true },
  lte: {
    sql: '<=',
    words: 'is this value or less',
    selects: 'this value and smaller ones',
    isRange: true,
  },
  in: {
    sql: 'IN',
    words: 'is one of these values',
    selects: 'any of several values, separated by commas',
    isList: true,
  },
  null: { sql: 'IS NULL', words: 'is null', selects: '`true`: null; `false`: any other value' },
} as const satisfies Readonly<Record<string, FilterOperator>>

type OperatorName = keyof typeof OPERATORS
/** The operators that compare with several values. */
export type ListOperator = {
  [O in OperatorName]: (typeof OPERATORS)[O] extends { readonly isList: true } ? O : never
}[OperatorName]
/** The operators that compare with one value, and have brackets. */
export type ValueOperator = Exclude<OperatorName, ListOperator | 'eq' | 'null'>

/** Whether an operator compares with several values. */
export const takesList = (operator: string): operator is ListOperator =>
  operatorRows.some(([name, { isList }]) => name === operator && isList === true)

/** The operators with their rows. */
export const operatorRows: readonly (readonly [name: string, FilterOperator])[] =
  Object.entries(OPERATORS)

/**
 * `filled` is `[null]=false`; `holds` is a part of a text, or a key of metadata with a value;
 * `same` is the value of another row as it sorts, or null for none in reach.
 */
type Operator = OperatorName | 'filled' | 'holds' | 'same'

export interface Filter {
  readonly column: string
  readonly operator: Operator
  /** Distinct and sorted for `in`, so that equal sets are identical. */
  readonly values: readonly (string | number)[]
  /** The parameter of the request, if column and operator do not determine it. */
  readonly parameter?: string
}

/** Whether the filter searches the whole text of each row that it examines. */
export const readsWholeText = ({ operator }: Filter): boolean => operator === 'holds'

/**
 * Parses one filter. Throws `unknown_parameter` or `invalid_parameter` for the parameter.
 *
 * @param others the parameters of the list that are no filters, for the message
 */
export function readFilter(
  parameter: string,
  text: string,
  collection: Collection,
  view: View,
  others: readonly string[],
): Filter {
  const entry = readEntryFilter(parameter, text, collection, view)
  if (entry) return entry
  requireEntryKey(parameter, collection, view)
  const match = /^([a-z0-9_.]+)(?:\[([a-z]+)\])?$/.exec(parameter)
  const column = match ? columnNamed(match[1]!, view) : undefined
  if (!match || column === undefined || !collection.filter.includes(column)) {
    const forms = filterForms(collection, view)
    const closest = findClosest(match?.[1] ?? parameter, [...forms.keys(), ...others])
    const hint = closest === undefined ? '' : `; did you mean ${forms.get(closest) ?? closest}?`
    const predicate = `is not a parameter of this list${hint}`
    throw parameterFailure('unknown_parameter', parameter, predicate)
  }
  const operator = match[2] ?? 'eq'
  const listColumn = collection.columns.find(({ name }) => name === column)!
  if (!Object.hasOwn(OPERATORS, operator) || (operator === 'eq' && match[2])) {
    const allowed = listForms(match[1]!, collection, listColumn).join(', ')
    const problem = `has an unknown operator. This list has ${allowed}`
    throw parameterFailure('invalid_parameter', parameter, problem)
  }
  if (operator === 'null') return readNullFilter(parameter, text, listColumn)
  const isList = takesList(operator)
  const parts = isList ? readValueList(parameter, text) : [text]
  const values = parts.map((part) => readValue(parameter, part, listColumn))
  const filter = { column, operator: operator as Operator, values }
  const { between } = cellOf(listColumn)
  const exact = between ? exactFilter(filter, parts, parameter, between) : filter
  return isList ? { ...exact, values: [...new Set(exact.values)].sort() } : exact
}

/** Returns the simplest filter by each name: `email`, or `name[contains]`. */
function filterForms(
  { filter, prefix = [], contains = [] }: Collection,
  view: View,
): ReadonlyMap<string, string> {
  const forms = new Map<string, string>()
  for (const name of columnNames(view)) {
    const column = columnNamed(name, view)
    if (column === undefined) continue
    if (filter.includes(column)) forms.set(name, name)
    else if (contains.includes(column)) forms.set(name, `${name}[contains]`)
    else if (prefix.includes(column)) forms.set(name, `${name}[prefix]`)
  }
  return forms
}

/**
 * Compares a value between two cells exactly: no row has it, and its bounds lie after the cell
 * before it. An instant between two milliseconds is one.
 */
function exactFilter(
  filter: Filter,
  texts: readonly string[],
  parameter: string,
  between: NonNullable<ListCell['between']>,
): Filter {
  if (!texts.some(between.has)) return filter
  const { operator, values } = filter
  if (operator === 'gt' || operator === 'gte') return { ...filter, operator: 'gt', parameter }
  if (operator === 'lt' || operator === 'lte') return { ...filter, operator: 'lte', parameter }
  return {
    ...filter,
    values: values.map((value, at) => (between.has(texts[at]!) ? between.unused : value)),
  }
}

/** Returns the parameters that filter a column: `name`, `name[ne]`, … */
function listForms(name: string, collection: Collection, column: ListColumn): string[] {
  const operators = Object.keys(OPERATORS).filter(
    (operator) => operator !== 'eq' && (operator !== 'null' || canBeNull(column)),
  )
  if (collection.prefix?.includes(column.name)) operators.push('prefix')
  if (collection.contains?.includes(column.name)) operators.push('contains')
  return [name, ...operators.map((operator) => `${name}[${operator}]`)]
}

const canBeNull = ({ nullable, related }: ListColumn): boolean =>
  (related ? related.isNullable : nullable) === true

function readNullFilter(parameter: string, text: string, column: ListColumn): Filter {
  if (!canBeNull(column))
    throw parameterFailure('invalid_parameter', parameter, 'names a field without null')
  if (text !== 'true' && text !== 'false') {
    throw parameterFailure('invalid_parameter', parameter, 'must be true or false')
  }
  return { column: column.name, operator: text === 'true' ? 'null' : 'filled', values: [] }
}

const ENTRY = /^([a-z0-9_.]{1,255})\[([A-Za-z0-9_.-]{1,40})\]$/

/** Parses `metadata[key]=value`. Returns undefined for a filter of another column. */
function readEntryFilter(
  parameter: string,
  text: string,
  collection: Collection,
  view: View,
): Filter | undefined {
  const [, name = '', key = ''] = ENTRY.exec(parameter) ?? []
  const column = mapNamed(name, collection, view)
  if (column === undefined) return undefined
  // Keys contain no quote, so that this text is in the cell exactly if the entry is.
  return { column, operator: 'holds', values: [`"${key}":${JSON.stringify(text)}`] }
}

/** Returns the column with entries that `name` filters; undefined if there is none. */
function mapNamed(name: string, collection: Collection, view: View): string | undefined {
  const column = columnNamed(name, view)
  const isMap = collection.columns.some((listed) => listed.name === column && listed.isMap)
  return column !== undefined && isMap && collection.filter.includes(column) ? column : undefined
}

/** Throws for a parameter of a column with entries whose key is missing or malformed. */
function requireEntryKey(parameter: string, collection: Collection, view: View): void {
  const name = parameter.split('[', 1)[0]!
  if (mapNamed(name, collection, view) === undefined) return
  const problem = `must name a key of 1 to 40 letters, digits, ".", "_" or "-", as in ${name}[key]`
  throw parameterFailure('invalid_parameter', parameter, problem)
}

/** Returns the parameter of a filter, as requests have it. */
export function parameterOf({ operator, values, parameter, ...filter }: Filter): string {
  if (parameter !== undefined) return parameter
  const column = wireName(filter.column)
  if (operator === 'eq') return column
  if (operator === 'filled' || operator === 'same') return `${column}[null]`
  if (operator !== 'holds') return `${column}[${operator}]`
  return `${column}[${/^"([^"]*)"/.exec(String(values[0]))![1]}]`
}

/** Returns the names that filters and sorts can have. */
export const columnNames = ({ fields, related }: View): readonly string[] =>
  related ? [...fields, ...Object.keys(related)] : fields

/** Returns the current name of a column that `name` denotes in the caller's version (§8.8). */
export function columnNamed(name: string, view: View): string | undefined {
  if (view.related && Object.hasOwn(view.related, name)) return view.related[name]
  if (view.renamed && Object.hasOwn(view.renamed, name)) return view.renamed[name]
  return view.fields.includes(name) ? name : undefined
}

function readValue(parameter: string, text: string, column: ListColumn): string | number {
  const invalid = (expected: string) =>
    parameterFailure('invalid_parameter', parameter, `must be ${expected}${emptyClause(text)}`)
  const cell = cellOf(column)
  const value = cell.parse(text)
  if (value === undefined) throw invalid(cell.words + plusClause(text))
  if (column.idPrefix !== undefined && !isPrefixedId(column.idPrefix, text)) {
    throw invalid(idWords(column.idPrefix))
  }
  if (column.oneOf && !column.oneOf.includes(text)) {
    throw invalid(oneOfWords(text, column.oneOf))
  }
  return column.folded === undefined ? value : foldName(text)
}
