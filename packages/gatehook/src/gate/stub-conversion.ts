/**
 * Generates TypeScript for a stub: the declaration of a field, and the expression that converts a
 * value of one field to another. The code compiles; the team decides whether it is right. Pure.
 */
import type { LockedField } from './lock.ts'

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : String(value)

const tupleOf = (values: readonly string[] = []): string => `[${values.map(literal).join(', ')}]`

/** The bounds that a field has by default. */
const defaultMax: Readonly<Record<string, number>> = { string: 255, email: 254, url: 2048 }
const defaultMin: Readonly<Record<string, number>> = { ref: 1, id: 1 }

/** Returns the declaration of a field: `f.string().min(1).max(200)`. */
export function fieldCode(spec: LockedField): string {
  const { kind, min, max, nullable, write } = spec
  if (spec.stamp) return spec.stamp === 'created' ? 'f.createdAt()' : 'f.updatedAt()'
  const argument = { ref: literal(spec.target), oneOf: tupleOf(spec.values) }[kind] ?? ''
  const methods = [
    `f.${kind}(${argument})`,
    ...(min !== undefined && min !== defaultMin[kind] ? [`min(${min})`] : []),
    ...(max !== undefined && max !== defaultMax[kind] ? [`max(${max})`] : []),
    ...(nullable ? ['nullable()'] : []),
    ...(spec.default === undefined ? [] : [`default(${literal(spec.default)})`]),
    ...(write === 'never' ? ['readonly()'] : []),
  ]
  return methods.join('.')
}

/** Returns a value that the field allows, for a row that has no value to convert. */
export function placeholderCode({ kind, min, nullable, values, ...spec }: LockedField): string {
  if (spec.default !== undefined) return literal(spec.default)
  if (nullable) return 'null'
  const placeholders: Readonly<Record<string, string>> = {
    oneOf: literal(values?.[0] ?? ''),
    email: literal('unknown@example.com'),
    url: literal('https://example.com/'),
    currency: literal('EUR'),
    bool: 'false',
    string: literal('-'.repeat(min ?? 0)),
  }
  return placeholders[kind] ?? String(min ?? 0)
}

interface Conversion {
  readonly code: string
  /** The question that the team must answer; undefined if the value does not change. */
  readonly decide: string | undefined
}

type ValueGroup = 'text' | 'set' | 'number' | 'bool'
const valueGroups: Readonly<Record<string, ValueGroup>> = {
  string: 'text',
  email: 'text',
  url: 'text',
  currency: 'text',
  oneOf: 'set',
  bool: 'bool',
  int: 'number',
  number: 'number',
  time: 'number',
  ref: 'number',
  id: 'number',
}

/** Converts the value of `from` in the expression `source` (`old.name`) to a value of `to`. */
export function conversionOf(from: LockedField, to: LockedField, source: string): Conversion {
  const { code, decide } = nonNullConversion(from, to, source)
  if (!from.nullable) return { code, decide }
  const isUnchanged = code === source
  if (!to.nullable) {
    const placeholder = placeholderCode(to)
    return {
      code: isUnchanged
        ? `${source} ?? ${placeholder}`
        : `${source} === null ? ${placeholder} : ${code}`,
      decide: decide ?? 'which value replaces null?',
    }
  }
  return { code: isUnchanged ? source : `${source} === null ? null : ${code}`, decide }
}

function nonNullConversion(from: LockedField, to: LockedField, source: string): Conversion {
  const groups = `${valueGroups[from.kind]} ${valueGroups[to.kind]}`
  const unchanged: Conversion = { code: source, decide: undefined }
  if (groups === 'number number') return numberConversion(from, to, source) ?? unchanged
  if (groups === 'text text') return textConversion(from, to, source) ?? unchanged
  if (groups === 'set set') return setConversion(from, to, source) ?? unchanged
  if (groups === 'set text' || groups === 'bool bool') return unchanged
  const code = conversionsAcrossGroups[groups]?.(from, to, source) ?? placeholderCode(to)
  return { code, decide: 'is this the value you mean?' }
}

function numberConversion(
  from: LockedField,
  { kind, min, max }: LockedField,
  source: string,
): Conversion | undefined {
  let code = source
  if (kind !== 'number' && from.kind === 'number') code = `Math.round(${code})`
  if (max !== undefined && max < (from.max ?? Infinity)) code = `Math.min(${code}, ${max})`
  if (min !== undefined && min > (from.min ?? -Infinity)) code = `Math.max(${code}, ${min})`
  return code === source ? undefined : { code, decide: 'is the nearest value what you mean?' }
}

function textConversion(
  from: LockedField,
  { kind, min, max }: LockedField,
  source: string,
): Conversion | undefined {
  let code = source
  if (max !== undefined && max < (from.max ?? Infinity)) code = `${code}.slice(0, ${max})`
  if (min !== undefined && min > (from.min ?? 0)) code = `${code}.padEnd(${min}, '-')`
  if (from.kind !== kind && kind !== 'string') return { code, decide: `is every value a ${kind}?` }
  return code === source ? undefined : { code, decide: 'is a part what you mean?' }
}

function setConversion(from: LockedField, to: LockedField, source: string): Conversion | undefined {
  const lost = (from.values ?? []).filter((value) => !to.values?.includes(value))
  if (lost.length === 0) return undefined
  const tests = lost.map((value) => `${source} === ${literal(value)}`).join(' || ')
  const replacement = literal(to.values?.[0] ?? '')
  return {
    code:
      lost.length === from.values?.length ? replacement : `${tests} ? ${replacement} : ${source}`,
    decide: `which value replaces ${lost.map(literal).join(', ')}?`,
  }
}

type ConversionCode = (from: LockedField, to: LockedField, source: string) => string

const conversionsAcrossGroups: Readonly<Record<string, ConversionCode>> = {
  'number text': ({ kind }, _to, source) =>
    kind === 'time' ? `new Date(${source}).toISOString()` : `String(${source})`,
  'text number': (_from, { kind }, source) => {
    if (kind === 'time') return `Date.parse(${source})`
    return kind === 'number' ? `Number(${source})` : `Math.round(Number(${source}))`
  },
  'bool text': (_from, _to, source) => `String(${source})`,
  'text bool': (_from, _to, source) => `${source} === 'true'`,
  'bool number': (_from, _to, source) => `${source} ? 1 : 0`,
  'number bool': (_from, _to, source) => `${source} !== 0`,
  'set bool': ({ values }, _to, source) => `${source} === ${literal(values?.[0] ?? '')}`,
  'bool set': (_from, { values }, source) =>
    `${source} ? ${literal(values?.[0] ?? '')} : ${literal(values?.at(-1) ?? '')}`,
  'text set': (_from, { values }, source) =>
    `(${tupleOf(values)} as const).find((value) => value === ${source}) ?? ` +
    literal(values?.[0] ?? ''),
}

/** Returns whether both fields store a value in the same form, so that filters still work. */
export const hasSameStorage = (from: LockedField, to: LockedField): boolean =>
  from.kind === to.kind || (isStoredAsText(from) && isStoredAsText(to))

const isStoredAsText = ({ kind }: LockedField): boolean =>
  valueGroups[kind] === 'text' || valueGroups[kind] === 'set'
