/**
 * The filter of a resource: a word for each declared field, with the operators of its type.
 * `amount:>=500`, `created_at:2026-11-24`, `status:paid,shipped`, `note:!=x`, `amount:100..500`,
 * `note:null`, `labels:key=value`.
 */
import type { Query } from '../../api.ts'
import type { Filter, FilterWord } from '../../parts/query-box.tsx'
import type { Resource, ResourceField } from './resource-shapes.ts'

/** Names of filters in the URL: a field can have the name of another member. */
export const FILTER_PREFIX = 'where.'

const OPERATORS: Readonly<Record<string, string>> = {
  '>=': '[gte]',
  '<=': '[lte]',
  '!=': '[ne]',
  '>': '[gt]',
  '<': '[lt]',
}
const OPERATOR = /^(>=|<=|!=|>|<)(.+)$/s
const RANGE = /^(.*?)\.\.(.*)$/
const DATE = /^\d{4}-\d{2}-\d{2}$/
const TIME_OF_DAY = /^\d{2}:\d{2}(:\d{2})?$/
const NULL = /^(!=)?null$/
/** A key of metadata and its value. */
const ENTRY = /^([A-Za-z0-9_.-]{1,40})=(.+)$/s
const DAY_MS = 86_400_000

const ORDERED = /^(id|ref|int|number|time|date|time_of_day|duration|decimal)$/
const LISTED = /^(id|ref|int|one_of|currency|date|time_of_day|uuid)$/
const NUMBER = /^-?\d+(\.\d+)?$/
const TIME = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/

/** The form of one value, and an example. */
const FORMS: Readonly<Record<string, readonly [pattern: RegExp, words: string]>> = {
  id: [NUMBER, '17'],
  ref: [NUMBER, '17'],
  int: [NUMBER, '500, >=500 or 100..500'],
  number: [NUMBER, '0.5, >=0.5 or 0.1..0.5'],
  decimal: [NUMBER, '12.50, >=12.50 or 10..20'],
  date: [DATE, '2026-11-24, >=2026-11-24 or 2026-11-01..2026-11-24'],
  time_of_day: [TIME_OF_DAY, '09:30, >=09:30 or 09:30..17:00'],
  metadata: [ENTRY, 'key=value'],
  time: [TIME, '2026-11-24, >=2026-11-24 or 2026-11-01..2026-11-24'],
}

/** An id with a prefix is a text. */
const formOf = ({ type, id_prefix: prefix }: ResourceField): (typeof FORMS)[string] | undefined =>
  prefix === null ? FORMS[type] : [new RegExp(`^${prefix}_[0-9A-Za-z]{22}$`), `${prefix}_…`]

/** Returns the single values in the text of a filter. */
function partsOf({ type }: ResourceField, value: string): readonly string[] {
  const [, , operand] = OPERATOR.exec(value) ?? []
  if (operand !== undefined) return [operand]
  const range = ORDERED.test(type) ? RANGE.exec(value) : null
  if (range) return range.slice(1).filter((part) => part !== '')
  return LISTED.test(type) ? value.split(',') : [value]
}

function checkOf(field: ResourceField): FilterWord['check'] {
  const [pattern, words] = formOf(field) ?? []
  if (!pattern) return undefined
  return (value) => {
    if (field.nullable && NULL.test(value)) return undefined
    const parts = partsOf(field, value)
    const isValid = parts.length > 0 && parts.every((part) => pattern.test(part))
    return isValid ? undefined : `It must look like ${words}.`
  }
}

const HINTS: Readonly<Record<string, string>> = { bool: 'true or false', one_of: 'a value or more' }

function wordOf(field: ResourceField): FilterWord {
  const check = checkOf(field)
  const example = formOf(field)?.[1]
  return {
    name: field.name,
    hint: example ?? HINTS[field.type] ?? 'the whole value',
    values: field.type === 'bool' ? ['true', 'false'] : (field.values ?? undefined),
    ...(check && { check }),
  }
}

export const dataWords = ({ fields, filter }: Resource): readonly FilterWord[] =>
  fields.filter(({ name }) => filter.includes(name)).map(wordOf)

/** Returns the parameters of one filter. A date without an operator is the whole day. */
function parametersOfFilter(field: ResourceField, value: string): Query {
  const { name, type, nullable } = field
  const isNull = nullable ? NULL.exec(value) : null
  if (isNull) return { [`${name}[null]`]: isNull[1] === undefined }
  const [, key, entry] = (type === 'metadata' && ENTRY.exec(value)) || []
  if (key !== undefined) return { [`${name}[${key}]`]: entry }
  const [, operator, operand] = OPERATOR.exec(value) ?? []
  const suffix = operator && OPERATORS[operator]
  if (suffix) return { [name + suffix]: operand }
  const [, from, to] = (ORDERED.test(type) && RANGE.exec(value)) || []
  if (from !== undefined) return { [`${name}[gte]`]: from, [`${name}[lte]`]: to }
  if (type === 'time' && DATE.test(value)) {
    const next = new Date(Date.parse(value) + DAY_MS).toISOString().slice(0, 10)
    return { [`${name}[gte]`]: value, [`${name}[lt]`]: next }
  }
  const isList = LISTED.test(type) && value.includes(',')
  return { [isList ? `${name}[in]` : name]: value }
}

export const dataParameters = ({ fields }: Resource, filters: readonly Filter[]): Query =>
  Object.assign(
    {},
    ...filters.flatMap(({ name, value }) => {
      const field = fields.find((other) => other.name === name)
      return field ? [parametersOfFilter(field, value)] : []
    }),
  )

/** Returns examples of words: `status:paid  amount:>=500`. */
export function placeholderOf({ fields, filter }: Resource): string {
  const examples: Readonly<Record<string, string>> = { int: '>=500', time: '>=2026-01-01' }
  return fields
    .filter(({ name }) => name !== 'id' && filter.includes(name))
    .map(({ name, type, values }) => `${name}:${values?.[0] ?? examples[type] ?? '…'}`)
    .slice(0, 3)
    .join('  ')
}
