/**
 * Filters: `status=paid`, `amount[gte]=100`, `currency[in]=EUR,USD` over declared columns (§7.7).
 * Pure.
 */
import { parameterFailure } from '../http/query.ts'
import { parseTime } from '../kernel/time.ts'
import type { Collection, ListColumn, View } from './collection.ts'

/** The SQL of each operator in brackets; values are always parameters. */
export const OPERATORS = {
  eq: '=',
  ne: 'IS DISTINCT FROM',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: 'IN',
} as const

type Operator = keyof typeof OPERATORS

export interface Filter {
  readonly column: string
  readonly operator: Operator
  /** Distinct and sorted for `in`, so that equal sets are identical. */
  readonly values: readonly (string | number)[]
}

const MAX_IN_VALUES = 100

/** Parses one filter. Throws `unknown_parameter` or `invalid_parameter` for the parameter. */
export function readFilter(
  parameter: string,
  text: string,
  collection: Collection,
  view: View,
): Filter {
  const match = /^([a-z0-9_]+)(?:\[([a-z]+)\])?$/.exec(parameter)
  const column = match ? columnNamed(match[1]!, view) : undefined
  if (!match || column === undefined || !collection.filter.includes(column)) {
    throw parameterFailure('unknown_parameter', parameter, 'is not a parameter of this list')
  }
  const operator = match[2] ?? 'eq'
  if (!Object.hasOwn(OPERATORS, operator) || (operator === 'eq' && match[2])) {
    throw parameterFailure('invalid_parameter', parameter, 'has an unknown operator')
  }
  const listColumn = collection.columns.find(({ name }) => name === column)!
  const parts = operator === 'in' ? text.split(',') : [text]
  if (parts.length > MAX_IN_VALUES) {
    throw parameterFailure('invalid_parameter', parameter, `takes at most ${MAX_IN_VALUES} values`)
  }
  const values = parts.map((part) => readValue(parameter, part, listColumn))
  if (operator === 'in') return { column, operator, values: [...new Set(values)].sort() }
  return { column, operator: operator as Operator, values }
}

/** Returns the current name of a column that `name` denotes in the caller's version (§8.8). */
export function columnNamed(name: string, view: View): string | undefined {
  if (view.renamed && Object.hasOwn(view.renamed, name)) return view.renamed[name]
  return view.fields.includes(name) ? name : undefined
}

function readValue(parameter: string, text: string, column: ListColumn): string | number {
  const invalid = (expected: string) =>
    parameterFailure('invalid_parameter', parameter, `must be ${expected}`)
  switch (column.type) {
    case 'int': {
      const value = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isSafeInteger(value)) throw invalid('a whole number')
      return value
    }
    case 'real': {
      const value = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isFinite(value)) throw invalid('a number')
      return value
    }
    case 'time': {
      const value = parseTime(text)
      if (value === undefined)
        throw invalid('an ISO 8601 instant, for example 2026-01-31T12:00:00Z')
      return value
    }
    case 'bool':
      if (text !== 'true' && text !== 'false') throw invalid('true or false')
      return text === 'true' ? 1 : 0
    case 'email':
      return foldCase(text)
    default:
      if (column.oneOf && !column.oneOf.includes(text)) {
        throw invalid(`one of ${column.oneOf.join(', ')}`)
      }
      return text
  }
}

/** Converts A–Z only to lower case, like `lower()` of both databases with byte order. */
const foldCase = (text: string): string =>
  text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())
