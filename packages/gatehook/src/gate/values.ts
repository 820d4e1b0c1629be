/**
 * Two schemas of one value: which values are lost, which are gained. Types, sets, bounds,
 * patterns, formats; what is inside objects and lists is `schemas.ts`. Pure.
 */
import { isEqual, type Node, stable } from './document.ts'
import type { Shift } from './finding.ts'

const typeWords: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}
const EVERY = ['string', 'number', 'boolean', 'object', 'array', 'null']

const typeOfValue = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** The types a schema allows. */
export function typesOf(schema: Node): string[] {
  if (schema.type !== undefined) return [schema.type].flat() as string[]
  if (Array.isArray(schema.enum)) return [...new Set(schema.enum.map(typeOfValue))]
  return EVERY
}

const covers = (types: readonly string[], type: string): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'))

const shift = (kind: Shift['kind'], words: string): Shift => ({ kind, words })

/** All shifts between two normal schemas, what is inside left out. */
export function valueShifts(old: Node, now: Node): Shift[] {
  const [before, after] = [typesOf(old), typesOf(now)]
  const types = [
    ...before.filter((type) => !covers(after, type)).map((type) => typeShift('lost', type, after)),
    ...after
      .filter((type) => !covers(before, type))
      .map((type) => typeShift('gained', type, before)),
  ]
  const common = (type: string) =>
    [before, after].every(
      (all) => covers(all, type) || (type === 'number' && covers(all, 'integer')),
    )
  return [
    ...types,
    ...enumShifts(old, now, common),
    ...bounds.filter(({ type }) => common(type)).flatMap((bound) => boundShifts(bound, old, now)),
    ...rules.filter(({ type }) => common(type)).flatMap((rule) => ruleShifts(rule, old, now)),
  ]
}

function typeShift(kind: Shift['kind'], type: string, others: readonly string[]): Shift {
  // Between whole numbers and numbers only fractions come or go.
  const fraction = type === 'number' && others.includes('integer')
  return shift(kind, fraction ? 'a number with a fraction' : (typeWords[type] ?? type))
}

/** Sets that may grow or shrink without notice (ISO 4217, event types) are no promise. */
const promised = (schema: Node): readonly unknown[] | undefined =>
  schema['x-open-set'] === true ? undefined : (schema.enum as unknown[] | undefined)

function enumShifts(old: Node, now: Node, common: (type: string) => boolean): Shift[] {
  const [before, after] = [promised(old), promised(now)]
  if (before === undefined && after === undefined) return []
  if (before === undefined) return [shift('lost', `anything but ${words(after!)}`)]
  if (after === undefined) return [shift('gained', `something other than ${words(before)}`)]
  const told = (value: unknown) => {
    const type = typeOfValue(value)
    return !common(type === 'integer' ? 'number' : type)
  }
  const beyond = (one: readonly unknown[], other: readonly unknown[]) =>
    one.filter((value) => !other.some((known) => isEqual(known, value)) && !told(value))
  const [lost, gained] = [beyond(before, after), beyond(after, before)]
  return [
    ...(lost.length > 0 ? [shift('lost', words(lost))] : []),
    ...(gained.length > 0 ? [shift('gained', words(gained))] : []),
  ]
}

const SHOWN = 6
const words = (values: readonly unknown[]): string => {
  const some = values.slice(0, SHOWN).map(stable).join(', ')
  return values.length > SHOWN ? `${some} and ${values.length - SHOWN} more` : some || 'nothing'
}

interface Bound {
  readonly type: string
  readonly word: string
  /** The same bound, the value itself left out. */
  readonly exclusive?: string
  readonly side: 'least' | 'most'
  readonly beyond: (limit: number) => string
}

const bounds: readonly Bound[] = [
  {
    type: 'number',
    word: 'minimum',
    exclusive: 'exclusiveMinimum',
    side: 'least',
    beyond: (limit) => `a number below ${limit}`,
  },
  {
    type: 'number',
    word: 'maximum',
    exclusive: 'exclusiveMaximum',
    side: 'most',
    beyond: (limit) => `a number above ${limit}`,
  },
  ...counted('string', 'Length', 'a text', 'characters'),
  ...counted('array', 'Items', 'a list', 'items'),
  ...counted('object', 'Properties', 'an object', 'members'),
]

function counted(type: string, suffix: string, what: string, units: string): Bound[] {
  return [
    {
      type,
      word: `min${suffix}`,
      side: 'least',
      beyond: (limit) => `${what} of fewer than ${limit} ${units}`,
    },
    {
      type,
      word: `max${suffix}`,
      side: 'most',
      beyond: (limit) => `${what} of more than ${limit} ${units}`,
    },
  ]
}

interface Limit {
  readonly at: number
  /** Whether the limit itself is outside. */
  readonly open: boolean
}

function limitOf({ word, exclusive, side }: Bound, schema: Node): Limit | undefined {
  const plain = schema[word] as number | undefined
  const open = exclusive === undefined ? undefined : (schema[exclusive] as number | undefined)
  const sign = side === 'least' ? 1 : -1
  if (open !== undefined && (plain === undefined || (open - plain) * sign >= 0)) {
    // Among whole numbers, above 0 is from 1.
    return typesOf(schema).includes('integer')
      ? { at: open + sign, open: false }
      : { at: open, open: true }
  }
  if (plain === undefined || (plain === 0 && side === 'least' && !exclusive)) return undefined
  return { at: plain, open: false }
}

function boundShifts(bound: Bound, old: Node, now: Node): Shift[] {
  const [before, after] = [limitOf(bound, old), limitOf(bound, now)]
  const tight = (limit: Limit | undefined): [number, number] => {
    if (!limit) return [Number.NEGATIVE_INFINITY, 0]
    return [bound.side === 'least' ? limit.at : -limit.at, limit.open ? 1 : 0]
  }
  const [[a, aOpen], [b, bOpen]] = [tight(before), tight(after)]
  if (a === b && aOpen === bOpen) return []
  const tighter = b > a || (b === a && bOpen > aOpen)
  const limit = (tighter ? after : before)!
  const text = bound.beyond(limit.at) + (limit.open ? `, or ${limit.at} itself` : '')
  return [shift(tighter ? 'lost' : 'gained', text)]
}

interface Rule {
  readonly type: string
  readonly word: string
  readonly breaking: (rule: unknown) => string
  /** True where the one rule says at least what the other says. */
  readonly implies?: (one: unknown, other: unknown) => boolean
}

const wide: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' }

const rules: readonly Rule[] = [
  {
    type: 'string',
    word: 'pattern',
    breaking: (pattern) => `a text that does not match ${pattern}`,
  },
  {
    type: 'string',
    word: 'format',
    breaking: (format) => `a text that is no ${format}`,
  },
  {
    type: 'number',
    word: 'format',
    breaking: (format) => `a number beyond ${format}`,
    implies: (one, other) => wide[String(one)] === other,
  },
  {
    type: 'number',
    word: 'multipleOf',
    breaking: (step) => `a number that is no multiple of ${step}`,
    implies: (one, other) => Number.isInteger(Number(one) / Number(other)),
  },
  {
    type: 'array',
    word: 'uniqueItems',
    breaking: () => 'a list with repeats',
  },
]

function ruleShifts({ word, breaking, implies }: Rule, old: Node, now: Node): Shift[] {
  const [before, after] = [old[word] || undefined, now[word] || undefined]
  if (isEqual(before, after)) return []
  const shifts: Shift[] = []
  const holds = (one: unknown, other: unknown) =>
    one !== undefined && implies?.(one, other) === true
  if (after !== undefined && !holds(before, after)) shifts.push(shift('lost', breaking(after)))
  if (before !== undefined && !holds(after, before)) shifts.push(shift('gained', breaking(before)))
  return shifts
}
