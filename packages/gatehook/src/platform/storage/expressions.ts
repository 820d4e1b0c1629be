/**
 * SQL whose text differs between the databases: values of a type, items of a JSON list, and texts
 * that a declaration has for each database. Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import type { Database } from './database.ts'

/** The class of the states of PostgreSQL: division by zero, out of range, no JSON. */
const DATA_EXCEPTION = '22'
/** A function that rejects its argument. */
const SQLITE_ERROR = 1

export type DatabaseName = Database['name']

/** A text for both databases, or one for each. */
export type DatabaseTexts = string | Readonly<Record<DatabaseName, string>>

export const textFor = (database: DatabaseName, texts: DatabaseTexts): string =>
  typeof texts === 'string' ? texts : texts[database]

/** The types of numbers in expressions. */
const numberTypes = {
  sqlite: { int: 'INTEGER', real: 'REAL' },
  postgres: { int: 'BIGINT', real: 'DOUBLE PRECISION' },
} as const

export const integerType = (database: DatabaseName): string => numberTypes[database].int

export const castNumber = (database: DatabaseName, sql: string, type: 'int' | 'real'): string =>
  `CAST((${sql}) AS ${numberTypes[database][type]})`

/** Returns an integer that JSON has exactly, and null for another one. */
export function exactInteger(database: DatabaseName, sql: string): string {
  const integer = castNumber(database, sql, 'int')
  const { MAX_SAFE_INTEGER: max, MIN_SAFE_INTEGER: min } = Number
  const type = integerType(database)
  return `CAST(CASE WHEN ${integer} BETWEEN ${min} AND ${max} THEN ${integer} END AS ${type})`
}

/** Whether a statement failed because an expression has no value for a row: `1 / 0`. */
export function isUncomputable(error: unknown): boolean {
  const cause = error instanceof Failure ? error.detail : error
  const { code, errcode } = (cause ?? {}) as { code?: string; errcode?: number }
  return code?.startsWith(DATA_EXCEPTION) || errcode === SQLITE_ERROR
}

/** Returns an expression as a text of at most `max` characters, which compares by bytes. */
export function boundedText(database: DatabaseName, sql: string, max: number): string {
  const bounded = `substr(CAST((${sql}) AS TEXT), 1, ${max})`
  return database === 'postgres' ? `(${bounded} COLLATE "C")` : bounded
}

type ItemType = 'int' | 'real' | 'bool' | 'text'

/** How a statement reads the items of a JSON list. */
interface JsonItems {
  /** Returns the table `item` of the items of a JSON text. */
  readonly each: (list: string) => string
  /** Returns the SQL of a member of an item, and of an item without members. */
  readonly member: (key: string, type: ItemType) => string
  readonly whole: (type: ItemType) => string
}

/** PostgreSQL returns texts, which get the type that SQLite returns. */
function typed(text: string, type: ItemType): string {
  if (type === 'text') return `(${text}) COLLATE "C"`
  return type === 'bool' ? `(${text})::boolean::int` : `(${text})::${numberTypes.postgres[type]}`
}

const jsonItems: Readonly<Record<DatabaseName, JsonItems>> = {
  sqlite: {
    each: (list) => `json_each(${list}) AS item`,
    member: (key) => `item.value ->> '$.${key}'`,
    whole: () => 'item.value',
  },
  postgres: {
    each: (list) => `LATERAL json_array_elements(${list}::json) AS item(value)`,
    member: (key, type) => typed(`item.value ->> '${key}'`, type),
    whole: (type) => typed(`item.value #>> '{}'`, type),
  },
}

export const jsonItemsOf = (database: DatabaseName): JsonItems => jsonItems[database]
