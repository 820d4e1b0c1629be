/**
 * The forms of a value: JSON in bodies and events, the value in rows and handlers, the cell in
 * tables. Most kinds have one form for all three. Null is null in each. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import { isInstantMs, isoTime, parseTime } from '../../kernel/time.ts'
import { formatDecimal, parseDecimal } from './decimal.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { isPlainObject } from './merge-patch.ts'
import type { MemberSpec } from './spec.ts'

type CellContent = string | number

export interface ValueForm {
  /** Undefined: JSON has the value of the row. */
  readonly json?: {
    /** Returns a value of another type as it is; validation reports it. */
    readonly to: (value: unknown) => unknown
    /** Converts valid JSON. */
    readonly from: (json: unknown) => unknown
  }
  /** Undefined: the table has the value of the row. */
  readonly cell?: {
    readonly to: (value: unknown) => CellContent
    readonly from: (cell: unknown) => unknown
  }
}

const forms: Readonly<Partial<Record<MemberSpec['kind'], (spec: MemberSpec) => ValueForm>>> = {
  bool: () => ({ cell: { to: (value) => (value ? 1 : 0), from: (cell) => cell === 1 } }),
  time: () => ({
    json: {
      to: (value) => (isInstantMs(value) ? isoTime(value as number) : value),
      from: (json) => parseTime(json as string),
    },
  }),
  duration: () => ({
    json: {
      to: (value) => (typeof value === 'number' ? formatDuration(value) : value),
      from: (json) => parseDuration(json as string),
    },
  }),
  decimal: (spec) => ({
    cell: {
      to: (value) => decimalUnits(spec, value),
      from: (cell) => formatDecimal(cell as number, spec.scale!),
    },
  }),
  object: (spec) => jsonForm(objectForm(spec)),
  list: (spec) => jsonForm(listForm(spec)),
  metadata: () => jsonForm(undefined),
  json: () => jsonForm(undefined),
}

const plain: ValueForm = {}

export const formOf = (spec: MemberSpec): ValueForm => forms[spec.kind]?.(spec) ?? plain

type JsonForm = NonNullable<ValueForm['json']>

/** The cell of an object or array is its JSON text, which lists return as it is. */
const jsonForm = (json: JsonForm | undefined): ValueForm => ({
  ...(json && { json }),
  cell: {
    to: (value) => JSON.stringify(json ? json.to(value) : value),
    from: (cell) => {
      const value: unknown = JSON.parse(cell as string)
      return json ? json.from(value) : value
    },
  },
})

const sameJson: JsonForm = { to: (value) => value, from: (json) => json }

/** Converts the members, and puts them into their declared order. */
function objectForm({ members = {} }: MemberSpec): JsonForm {
  const forms = Object.entries(members).map(
    ([name, spec]) => [name, formOf(spec).json ?? sameJson] as const,
  )
  const convert = (direction: 'to' | 'from') => (value: unknown) => {
    if (!isPlainObject(value)) return value
    const converted: Record<string, unknown> = {}
    for (const [name, form] of forms) {
      const own = value[name]
      if (own !== undefined) converted[name] = own === null ? null : form[direction](own)
    }
    // Validation reports undeclared members.
    for (const name of Object.keys(value)) converted[name] ??= value[name]
    return converted
  }
  return { to: convert('to'), from: convert('from') }
}

function listForm({ items }: MemberSpec): JsonForm | undefined {
  const { json } = formOf(items!)
  if (!json) return undefined
  const convert = (direction: 'to' | 'from') => (value: unknown) =>
    Array.isArray(value)
      ? value.map((item: unknown) => (item === null ? null : json[direction](item)))
      : value
  return { to: convert('to'), from: convert('from') }
}

/** Whether two values of rows are equal. */
export const isSameValue = (left: unknown, right: unknown): boolean =>
  Object.is(left, right) ||
  (typeof left === 'object' && left !== null && isDeepStrictEqual(left, right))

/** Returns the JSON of a row's value. */
export function toJson(spec: MemberSpec, value: unknown): unknown {
  const { json } = formOf(spec)
  return json && value !== null ? json.to(value) : value
}

/** Bodies are valid; another value is a mistake of the team's code. */
function decimalUnits(spec: MemberSpec, value: unknown): number {
  const size = { precision: spec.precision!, scale: spec.scale! }
  const units = typeof value === 'string' ? parseDecimal(value, size) : undefined
  if (units !== undefined) return units
  throw new TypeError(`${String(value)} is not a decimal(${size.precision}, ${size.scale})`)
}
