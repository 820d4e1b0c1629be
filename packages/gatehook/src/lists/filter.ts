/**
 * Filters: `status=paid`, `amount[gte]=100`, `currency[in]=EUR,USD` over declared columns (§7.7).
 * Pure.
 */
import { parameterFailure } from '../http/query.ts'
import { parseTime } from '../kernel/time.ts'
import type { Collection, ListColumn, View } from './collection.ts'

/** Operator as written in brackets → its SQL; values always are parameters. */
export const operators = {
  eq: '=',
  ne: 'IS DISTINCT FROM',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: 'IN',
} as const

type Operator = keyof typeof operators

export interface Filter {
  readonly column: string
  readonly operator: Operator
  /** Of `in`: a set, so one order stands for all. */
  readonly values: readonly (string | number)[]
}

const MAX_IN_VALUES = 100

/** Throws `unknown_parameter` or `invalid_parameter`, naming the parameter. */
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
  if (!Object.hasOwn(operators, operator) || (operator === 'eq' && match[2])) {
    throw parameterFailure('invalid_parameter', parameter, 'has an unknown operator')
  }
  const described = collection.columns.find((one) => one.name === column)!
  const parts = operator === 'in' ? text.split(',') : [text]
  if (parts.length > MAX_IN_VALUES) {
    throw parameterFailure('invalid_parameter', parameter, `takes at most ${MAX_IN_VALUES} values`)
  }
  const values = parts.map((part) => readValue(parameter, part, described))
  if (operator === 'in') return { column, operator, values: [...new Set(values)].sort() }
  return { column, operator: operator as Operator, values }
}

/** Today's name of a column the caller's version knows by `name` (§8.8). */
export function columnNamed(name: string, view: View): string | undefined {
  if (view.renamed && Object.hasOwn(view.renamed, name)) return view.renamed[name]
  return view.fields.includes(name) ? name : undefined
}

function readValue(parameter: string, text: string, column: ListColumn): string | number {
  const must = (what: string) => parameterFailure('invalid_parameter', parameter, `must be ${what}`)
  switch (column.type) {
    case 'int': {
      const value = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isSafeInteger(value)) throw must('a whole number')
      return value
    }
    case 'real': {
      const value = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isFinite(value)) throw must('a number')
      return value
    }
    case 'time': {
      const value = parseTime(text)
      if (value === undefined) throw must('an ISO 8601 instant, for example 2026-01-31T12:00:00Z')
      return value
    }
    case 'bool':
      if (text !== 'true' && text !== 'false') throw must('true or false')
      return text === 'true' ? 1 : 0
    case 'email':
      return foldCase(text)
    default:
      if (column.oneOf && !column.oneOf.includes(text)) {
        throw must(`one of ${column.oneOf.join(', ')}`)
      }
      return text
  }
}

/** Case of A–Z only, as `lower()` of both databases under byte order has it. */
const foldCase = (text: string): string =>
  text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())
