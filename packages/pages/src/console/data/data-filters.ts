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
const NULL = /^(!=)?null$/
/** A key of metadata and its value. */
const ENTRY = /^([A-Za-z0-9_.-]{1,40})=(.+)$/s
const DAY_MS = 86_400_000

/** Returns the single values in the text of a filter. */
function partsOf({ input }: ResourceField, value: string): readonly string[] {
  const [, , operand] = OPERATOR.exec(value) ?? []
  if (operand !== undefined) return [operand]
  const range = input.filter.range ? RANGE.exec(value) : null
  if (range) return range.slice(1).filter((part) => part !== '')
  return input.filter.list ? value.split(',') : [value]
}

function checkOf(field: ResourceField): FilterWord['check'] {
  const { pattern: source, words } = field.input.filter
  if (source === null) return undefined
  const pattern = new RegExp(source)
  return (value) => {
    if (field.nullable && NULL.test(value)) return undefined
    const parts = partsOf(field, value)
    const isValid = parts.length > 0 && parts.every((part) => pattern.test(part))
    return isValid ? undefined : `It must look like ${words}.`
  }
}

function wordOf(field: ResourceField): FilterWord {
  const { name, input, values } = field
  const check = checkOf(field)
  return {
    name,
    hint: input.filter.words ?? 'the whole value',
    values: input.json === 'boolean' ? ['true', 'false'] : (values ?? undefined),
    ...(check && { check }),
  }
}

export const dataWords = ({ fields, filter }: Resource): readonly FilterWord[] =>
  fields.filter(({ name }) => filter.includes(name)).map(wordOf)

/** Returns the parameters of one filter. A date without an operator is the whole day. */
function parametersOfFilter(field: ResourceField, value: string): Query {
  const { name, nullable, input } = field
  const { range, list, keys } = input.filter
  const isNull = nullable ? NULL.exec(value) : null
  if (isNull) return { [`${name}[null]`]: isNull[1] === undefined }
  const [, key, entry] = (keys && ENTRY.exec(value)) || []
  if (key !== undefined) return { [`${name}[${key}]`]: entry }
  const [, operator, operand] = OPERATOR.exec(value) ?? []
  const suffix = operator && OPERATORS[operator]
  if (suffix) return { [name + suffix]: operand }
  const [, from, to] = (range && RANGE.exec(value)) || []
  if (from !== undefined) return { [`${name}[gte]`]: from, [`${name}[lte]`]: to }
  if (input.instant && DATE.test(value)) {
    const next = new Date(Date.parse(value) + DAY_MS).toISOString().slice(0, 10)
    return { [`${name}[gte]`]: value, [`${name}[lt]`]: next }
  }
  const isList = list && value.includes(',')
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
  return fields
    .filter(({ name }) => name !== 'id' && filter.includes(name))
    .map(({ name, values, input }) => `${name}:${values?.[0] ?? input.filter.example ?? '…'}`)
    .slice(0, 3)
    .join('  ')
}
