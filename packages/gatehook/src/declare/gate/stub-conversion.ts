/**
 * Generates TypeScript for a stub: the declaration of a field, and the expression that converts a
 * value of one field to another. The code compiles; the team decides whether it is right. Pure.
 */

import type { CodeWriter, FieldKind } from '../../protocol/fields/kind.ts'
import { fieldKindOf, fieldKinds } from '../../protocol/fields/kinds/table.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import type { LockedField } from './lock.ts'

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)

const tupleOf = (values: readonly string[] = []): string => `[${values.map(literal).join(', ')}]`

/** A lock can name a kind that this release lacks: its values are any JSON. */
const kindOf = ({ kind }: LockedField): FieldKind => fieldKindOf({ kind }) ?? fieldKinds.json

/** Returns the declaration of a field: `f.string().min(1).max(200)`. */
export function fieldCode(spec: LockedField): string {
  const { min, max, nullable, write } = spec
  if (spec.stamp) return spec.stamp === 'created' ? 'f.createdAt()' : 'f.updatedAt()'
  const { call = spec.kind, callCode, hasBoundsInCall, initial, isMap } = kindOf(spec)
  const code: CodeWriter = { field: fieldCode, literal }
  const isOwn = (name: 'min' | 'max') =>
    !hasBoundsInCall && spec[name] !== undefined && spec[name] !== initial?.[name]
  const methods = [
    `f.${call}(${callCode?.(spec, code) ?? ''})`,
    ...(isOwn('min') ? [`min(${min})`] : []),
    ...(isOwn('max') ? [`max(${max})`] : []),
    ...(nullable ? ['nullable()'] : []),
    ...(spec.default === undefined || isMap ? [] : [`default(${literal(spec.default)})`]),
    ...(write === 'never' ? ['readonly()'] : []),
    ...(spec.isWriteOnce ? ['writeOnce()'] : []),
    ...(spec.isWriteOnly ? ['writeOnly()'] : []),
    ...(spec.visibleTo === undefined ? [] : [`visible(${literal(spec.visibleTo)})`]),
    ...(spec.writableBy === undefined ? [] : [`writable(${literal(spec.writableBy)})`]),
  ]
  return methods.join('.')
}

/** Returns a value that the field allows, for a row that has no value to convert. */
export const placeholderCode = (spec: LockedField): string => valueCode(placeholderOf(spec))

function placeholderOf(spec: LockedField): unknown {
  if (spec.default !== undefined) return spec.default
  return spec.nullable ? null : kindOf(spec).placeholder(spec, placeholderOf)
}

function valueCode(value: unknown): string {
  if (!isPlainObject(value)) return literal(value)
  const members = Object.entries(value).map(([name, member]) => `${name}: ${valueCode(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

interface Conversion {
  readonly code: string
  /** The question that the team must answer; undefined if the value does not change. */
  readonly decide: string | undefined
}

type ValueGroup = 'text' | 'set' | 'number' | 'bool' | 'json'

const groupOf = (spec: LockedField): ValueGroup => {
  if (spec.idPrefix !== undefined) return 'text'
  return spec.values ? 'set' : kindOf(spec).value
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
  const groups = `${groupOf(from)} ${groupOf(to)}`
  const unchanged: Conversion = { code: source, decide: undefined }
  if (groups === 'number number') return numberConversion(from, to, source) ?? unchanged
  if (groups === 'text text') return textConversion(from, to, source) ?? unchanged
  if (groups === 'set set') return setConversion(from, to, source) ?? unchanged
  if (groups === 'json json' && from.kind === to.kind) {
    return { code: source, decide: 'does every value fit?' }
  }
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

const NUMBERS = 'is every value a number?'

function textConversion(
  from: LockedField,
  { kind, min, max, scale }: LockedField,
  source: string,
): Conversion | undefined {
  if (kind === 'decimal' && scale !== from.scale) {
    const decide = from.kind === kind ? 'is the nearest value what you mean?' : NUMBERS
    return { code: `Number(${source}).toFixed(${scale})`, decide }
  }
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
  'number text': ({ kind }, to, source) => {
    if (to.kind === 'decimal') return `${source}.toFixed(${to.scale})`
    return kind === 'time' ? `new Date(${source}).toISOString()` : `String(${source})`
  },
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
  (from.kind === to.kind && from.scale === to.scale) || (isStoredAsText(from) && isStoredAsText(to))

const isStoredAsText = (spec: LockedField): boolean => {
  const { column, value } = kindOf(spec)
  return column === 'text' && value === 'text'
}
