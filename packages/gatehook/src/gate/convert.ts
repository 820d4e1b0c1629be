/**
 * TypeScript for a stub: how a field is declared, and an expression that makes one field's value
 * of another's. It compiles; whether it says what the team means, the team decides. Pure.
 */
import type { FieldData } from './lock.ts'

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : String(value)

/** Longest text `f.string()` allows by itself, and the others. */
const usualMax: Readonly<Record<string, number>> = { string: 255, email: 254, url: 2048 }
const usualMin: Readonly<Record<string, number>> = { ref: 1, id: 1 }

/** `f.string().min(1).max(200)`. */
export function fieldCode(spec: FieldData): string {
  const { kind, min, max, nullable, write } = spec
  if (spec.stamp) return spec.stamp === 'created' ? 'f.createdAt()' : 'f.updatedAt()'
  const argument: Readonly<Record<string, string>> = {
    ref: literal(spec.target),
    oneOf: `[${(spec.values ?? []).map(literal).join(', ')}]`,
  }
  const methods = [
    `f.${kind}(${argument[kind] ?? ''})`,
    ...(min !== undefined && min !== usualMin[kind] ? [`min(${min})`] : []),
    ...(max !== undefined && max !== usualMax[kind] ? [`max(${max})`] : []),
    ...(nullable ? ['nullable()'] : []),
    ...(spec.default === undefined ? [] : [`default(${literal(spec.default)})`]),
    ...(write === 'never' ? ['readonly()'] : []),
  ]
  return methods.join('.')
}

/** A value the field may have, where none is known. */
export function anyValue({ kind, min, nullable, values, ...spec }: FieldData): string {
  if (spec.default !== undefined) return literal(spec.default)
  if (nullable) return 'null'
  const known: Readonly<Record<string, string>> = {
    oneOf: literal(values?.[0] ?? ''),
    email: literal('unknown@example.com'),
    url: literal('https://example.com/'),
    currency: literal('EUR'),
    bool: 'false',
    string: literal('-'.repeat(min ?? 0)),
  }
  return known[kind] ?? String(min ?? 0)
}

export interface Conversion {
  readonly code: string
  /** Why somebody has to look at it; undefined where the value stays what it is. */
  readonly decide: string | undefined
}

type Group = 'text' | 'set' | 'number' | 'bool'
const groups: Readonly<Record<string, Group>> = {
  ...{ string: 'text', email: 'text', url: 'text', currency: 'text' },
  ...{ oneOf: 'set', bool: 'bool', int: 'number', number: 'number', time: 'number' },
  ...{ ref: 'number', id: 'number' },
}

/** From the value of `from`, which stands at `at` (`old.name`), to one of `to`. */
export function conversion(from: FieldData, to: FieldData, at: string): Conversion {
  const { code, decide } = whole(from, to, at)
  if (!from.nullable) return { code, decide }
  if (!to.nullable) {
    return {
      code: code === at ? `${at} ?? ${anyValue(to)}` : `${at} === null ? ${anyValue(to)} : ${code}`,
      decide: decide ?? 'what stands for null?',
    }
  }
  return { code: code === at ? at : `${at} === null ? null : ${code}`, decide }
}

/** Null left aside. */
function whole(from: FieldData, to: FieldData, at: string): Conversion {
  const way = `${groups[from.kind]} ${groups[to.kind]}`
  const same: Conversion = { code: at, decide: undefined }
  if (way === 'number number') return { ...same, ...numbers(from, to, at) }
  if (way === 'text text') return { ...same, ...texts(from, to, at) }
  if (way === 'set set') return { ...same, ...sets(from, to, at) }
  if (way === 'set text' || way === 'bool bool') return same
  const make = others[way]
  return { code: make?.(from, to, at) ?? anyValue(to), decide: 'is this the value you mean?' }
}

function numbers(from: FieldData, to: FieldData, at: string): Partial<Conversion> {
  let code = at
  if (to.kind !== 'number' && from.kind === 'number') code = `Math.round(${code})`
  const { min, max } = to
  if (max !== undefined && max < (from.max ?? Infinity)) code = `Math.min(${code}, ${max})`
  if (min !== undefined && min > (from.min ?? -Infinity)) code = `Math.max(${code}, ${min})`
  return code === at ? {} : { code, decide: 'is the nearest value what you mean?' }
}

function texts(from: FieldData, to: FieldData, at: string): Partial<Conversion> {
  let code = at
  const { min, max } = to
  if (max !== undefined && max < (from.max ?? Infinity)) code = `${code}.slice(0, ${max})`
  if (min !== undefined && min > (from.min ?? 0)) code = `${code}.padEnd(${min}, '-')`
  const formatted = from.kind !== to.kind && to.kind !== 'string'
  if (code === at && !formatted) return {}
  return { code, decide: formatted ? `is every value a ${to.kind}?` : 'is a part what you mean?' }
}

function sets(from: FieldData, to: FieldData, at: string): Partial<Conversion> {
  const lost = (from.values ?? []).filter((value) => !to.values?.includes(value))
  if (lost.length === 0) return {}
  const tests = lost.map((value) => `${at} === ${literal(value)}`).join(' || ')
  const stand = literal(to.values?.[0] ?? '')
  return {
    code: lost.length === from.values?.length ? stand : `${tests} ? ${stand} : ${at}`,
    decide: `what stands for ${lost.map(literal).join(', ')}?`,
  }
}

const others: Readonly<Record<string, (from: FieldData, to: FieldData, at: string) => string>> = {
  'number text': ({ kind }, _to, at) =>
    kind === 'time' ? `new Date(${at}).toISOString()` : `String(${at})`,
  'text number': (_from, { kind }, at) =>
    kind === 'time'
      ? `Date.parse(${at})`
      : kind === 'number'
        ? `Number(${at})`
        : `Math.round(Number(${at}))`,
  'bool text': (_from, _to, at) => `String(${at})`,
  'text bool': (_from, _to, at) => `${at} === 'true'`,
  'bool number': (_from, _to, at) => `${at} ? 1 : 0`,
  'number bool': (_from, _to, at) => `${at} !== 0`,
  'set bool': ({ values }, _to, at) => `${at} === ${literal(values?.[0] ?? '')}`,
  'bool set': (_from, { values }, at) =>
    `${at} ? ${literal(values?.[0] ?? '')} : ${literal(values?.at(-1) ?? '')}`,
  'text set': (_from, { values }, at) =>
    `([${(values ?? []).map(literal).join(', ')}] as const).find((one) => one === ${at}) ?? ` +
    literal(values?.[0] ?? ''),
}

/** Whether the database still holds the value in the same form: filters can go on. */
export const isComparable = (from: FieldData, to: FieldData): boolean =>
  from.kind === to.kind || (isText(from) && isText(to))

const isText = ({ kind }: FieldData): boolean => /^(text|set)$/.test(groups[kind] ?? '')
