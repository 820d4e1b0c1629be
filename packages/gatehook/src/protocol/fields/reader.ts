/**
 * Validates JSON values against the specs of fields and members, converts them, and reports every
 * mistake with its pointer (§10.2). One pass; pure.
 */

import type { FieldError } from '../../kernel/failure.ts'
import type { MistakeCode } from '../../kernel/mistakes.ts'
import { idWords, isPrefixedId } from '../../kernel/row-id.ts'
import { parseTime } from '../../kernel/time.ts'
import { isWebUrl } from '../../kernel/uri.ts'
import { boundUnits, formatDecimal, parseDecimal } from './decimal.ts'
import { formatDuration, parseDuration } from './duration.ts'
import type { MemberSpec, MemberSpecs } from './spec.ts'

/** Maximum number of errors: a response must not be many times the size of the body. */
export const ERRORS_MAX = 50

type Report = (pointer: string, code: MistakeCode, message: string) => undefined
/** Converts a valid value; reports the mistakes of any other. */
type ReadValue = (value: unknown, pointer: string, report: Report) => unknown
type Mistake = readonly [code: MistakeCode, message: string]

/** The members of an object, and those beside them that are accepted or explained. */
export interface ObjectRules {
  readonly members: MemberSpecs
  /** Members of responses that a client can send back (§8.8). */
  readonly ignored?: readonly string[]
  /** Whether further members are ignored; default: each is a mistake. */
  readonly isOpen?: boolean
  /** Names that a client can read and not write, with the rest of a sentence. */
  readonly readOnly?: ReadonlyMap<string, string>
}

/**
 * Reads an object and returns its valid members. `collect` receives each mistake, at most
 * `ERRORS_MAX`, with at most one for each pointer.
 */
export function createObjectReader(rules: ObjectRules) {
  const read = objectReader(rules, false)
  return (value: unknown): { values: Record<string, unknown>; errors: readonly FieldError[] } => {
    const errors: FieldError[] = []
    const values = read(value, '', (pointer, code, message) => {
      if (errors.length < ERRORS_MAX) errors.push({ pointer, code, message })
      return undefined
    })
    return { values: values as Record<string, unknown>, errors }
  }
}

/** RFC 6901 §3. */
export const escapePointer = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1')

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function objectReader(
  { members, ignored = [], isOpen = false, readOnly }: ObjectRules,
  nullable: boolean,
): ReadValue {
  const entries = Object.entries(members).map(([name, spec]) => ({
    name,
    path: `/${name}`,
    isRequired: spec.write === 'required',
    isInherited: name in Object.prototype,
    read: valueReader(spec),
  }))
  const names = new Set([...Object.keys(members), ...ignored])
  const mistyped = mistypedAs('an object', nullable)
  return (value, pointer, report) => {
    if (!isObject(value)) return report(pointer, ...mistyped)
    const values: Record<string, unknown> = {}
    for (const { name, path, isRequired, isInherited } of entries) {
      // `constructor` of an object without such a member is not its own.
      const own = isInherited && !Object.hasOwn(value, name) ? undefined : value[name]
      if (own !== undefined) values[name] = own
      else if (isRequired) report(pointer + path, 'required', 'is required')
    }
    let unknown = 0
    for (const name in value) {
      if (isOpen || names.has(name)) continue
      if (++unknown > ERRORS_MAX) break
      const reason = readOnly?.get(name)
      const mistake: Mistake = reason === undefined ? isUnknown : ['read_only', reason]
      report(`${pointer}/${escapePointer(name)}`, ...mistake)
    }
    for (const { name, path, isInherited, read } of entries) {
      const own = isInherited && !Object.hasOwn(values, name) ? undefined : values[name]
      if (own !== undefined)
        values[name] = read(own, pointer === '' ? path : pointer + path, report)
    }
    return values
  }
}

/** Adds the defaults of omitted members, and keeps the declared order. */
function withDefaults(members: MemberSpecs, read: ReadValue): ReadValue {
  const fallbacks = Object.entries(members).map(([name, spec]) => [name, spec.default] as const)
  if (fallbacks.every(([, value]) => value === undefined)) return read
  return (value, pointer, report) => {
    const values = read(value, pointer, report) as Readonly<Record<string, unknown>> | undefined
    if (values === undefined) return undefined
    const all = fallbacks.map(([name, fallback]) => [
      name,
      Object.hasOwn(values, name) ? values[name] : fallback,
    ])
    return Object.fromEntries(all.filter(([, member]) => member !== undefined))
  }
}

const isUnknown: Mistake = ['unknown_field', 'is not a field here']

const mistypedAs = (type: string, nullable: boolean): Mistake => [
  'invalid_type',
  `must be ${type}${nullable ? ' or null' : ''}`,
]

function valueReader({ isDeferred, ...declared }: MemberSpec): ReadValue {
  const { write, nullable } = declared
  const spec: MemberSpec = isDeferred ? { kind: 'text', write, nullable } : declared
  const read = contentReader(spec)
  const refine = spec.refine as ((value: unknown, reject: unknown) => unknown) | undefined
  return (value, pointer, report) => {
    if (value === null && spec.nullable) return null
    const content = read(value, pointer, report)
    if (content === undefined || !refine) return content
    return refine(content, (message: string) => report(pointer, 'invalid_value', message))
  }
}

function contentReader(spec: MemberSpec): ReadValue {
  const { kind, members, items, nullable } = spec
  if (kind === 'metadata') return metadataReader(spec)
  if (kind === 'list') return listReader(spec)
  if (members) return withDefaults(members, objectReader({ members }, nullable))
  if (kind === 'map') return mapReader(items!, nullable)
  const findMistake = mistakeFinders[kind](spec)
  const convert = converters[kind]?.(spec)
  return (value, pointer, report) => {
    const mistake = findMistake(value)
    if (mistake) return report(pointer, ...mistake)
    return convert ? convert(value as string) : value
  }
}

/** Converts valid text to the value of the row. Equal values have one text. */
const converters: Readonly<
  Partial<Record<MemberSpec['kind'], (spec: MemberSpec) => (text: string) => unknown>>
> = {
  time: () => parseTime,
  instant: () => parseTime,
  duration: () => parseDuration,
  uuid: () => (text) => text.toLowerCase(),
  timeOfDay: () => normalizeTimeOfDay,
  decimal(spec) {
    const size = decimalSize(spec)
    return (text) => formatDecimal(parseDecimal(text, size)!, size.scale)
  },
}

function listReader({ items, min = 0, max = Infinity, isSet, nullable }: MemberSpec): ReadValue {
  const read = valueReader(items!)
  return (value, pointer, report) => {
    if (!Array.isArray(value)) return report(pointer, ...mistypedAs('an array', nullable))
    if (value.length < min)
      return report(pointer, 'too_short', `must have at least ${entriesOf(min)}`)
    if (value.length > max)
      return report(pointer, 'too_long', `must have at most ${entriesOf(max)}`)
    const values = value.map((item, n) => read(item, `${pointer}/${n}`, report))
    return isSet ? [...new Set(values)] : values
  }
}

function mapReader(items: MemberSpec, nullable: boolean): ReadValue {
  const read = valueReader(items)
  return (value, pointer, report) => {
    if (!isObject(value)) return report(pointer, ...mistypedAs('an object', nullable))
    return Object.fromEntries(
      Object.entries(value).map(([name, own]) => [
        name,
        read(own, `${pointer}/${escapePointer(name)}`, report),
      ]),
    )
  }
}

export const METADATA_KEY = /^[A-Za-z0-9_.-]{1,40}$/

function metadataReader({ items, max = 0, nullable }: MemberSpec): ReadValue {
  const read = mapReader(items!, nullable)
  return (value, pointer, report) => {
    const names = isObject(value) ? Object.keys(value) : []
    if (names.length > max)
      return report(pointer, 'too_long', `must have at most ${entriesOf(max)}`)
    for (const name of names.filter((name) => !METADATA_KEY.test(name))) {
      const message = 'has a key that is not 1 to 40 of A-Z, a-z, 0-9, _, . and -'
      report(`${pointer}/${escapePointer(name)}`, 'invalid_format', message)
    }
    return read(value, pointer, report)
  }
}

function jsonFinder(max: number): FindMistake {
  return (value) => {
    if (value === null) return ['invalid_type', 'must be a JSON value other than null']
    if (JSON.stringify(value).length <= max) return undefined
    return ['too_long', `must have at most ${charactersOf(max)} as JSON`]
  }
}

type FindMistake = (value: unknown) => Mistake | undefined

/**
 * Unquoted addresses of RFC 5321, with the characters beyond ASCII of RFC 6531. Format characters
 * are invisible or reorder text: two addresses would look alike.
 */
const WIDE = '[^\\x00-\\x9f\\s\\p{Cf}\\p{Cs}\\p{Cn}]'
const atom = `(?:[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]|${WIDE})+`
const label = `(?:[A-Za-z0-9]|${WIDE})(?:(?:[A-Za-z0-9-]|${WIDE})*(?:[A-Za-z0-9]|${WIDE}))?`
const EMAIL = new RegExp(`^${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`, 'u')
export const currencies: readonly string[] = Intl.supportedValuesOf('currency')

/** Has a character that is no white space, and no control character. Takes linear time. */
export const LINE = /^[^\S\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$/u
const isLine = (text: string) => LINE.test(text) && text.isWellFormed()
const isInstant = (text: string) => parseTime(text) !== undefined
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string): boolean => UUID.test(text)
/** A day that exists. */
export const isDate = (text: string): boolean =>
  text.length === 'YYYY-MM-DD'.length && isInstant(text)
export const TIME_OF_DAY = /^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/
export const isTimeOfDay = (text: string): boolean => TIME_OF_DAY.test(text)
/** Adds the seconds, so that texts sort by time. */
export const normalizeTimeOfDay = (text: string): string =>
  text.length === 'HH:MM'.length ? `${text}:00` : text
const INSTANT = 'an ISO 8601 instant, for example 2026-01-31T12:00:00Z'

const never: FindMistake = () => undefined

const mistakeFinders: Readonly<
  Record<
    Exclude<MemberSpec['kind'], 'list' | 'map' | 'metadata'>,
    (spec: MemberSpec) => FindMistake
  >
> = {
  id: idFinder,
  ref: idFinder,
  int: integerFinder,
  number: (spec) => numberFinder(spec, 'a number', (value) => typeof value === 'number'),
  bool: ({ nullable }) => typeFinder('boolean', 'true or false', nullable),
  string: (spec) => textFinder(spec),
  text: (spec) => textFinder(spec),
  line: (spec) => textFinder(spec, 'one line of valid Unicode', isLine),
  email: (spec) => textFinder(spec, 'an e-mail address', (text) => EMAIL.test(text)),
  url: (spec) =>
    textFinder(spec, 'an absolute http or https URL of the characters of a URI', isWebUrl),
  time: (spec) => textFinder(spec, INSTANT, isInstant),
  instant: (spec) => textFinder(spec, INSTANT, isInstant),
  date: (spec) => textFinder(spec, 'a day that exists, for example 2026-01-31', isDate),
  timeOfDay: (spec) => textFinder(spec, 'a time of day, for example 09:30:00', isTimeOfDay),
  duration: durationFinder,
  decimal: decimalFinder,
  uuid: (spec) => textFinder(spec, 'a UUID', isUuid),
  pattern: patternFinder,
  currency: (spec) => setFinder(spec, currencies),
  oneOf: (spec) => setFinder(spec, spec.values ?? []),
  object: ({ nullable }) => {
    const mistake = mistypedAs('an object', nullable)
    return (value) => (isObject(value) ? undefined : mistake)
  },
  json: ({ max }) => (max === undefined ? never : jsonFinder(max)),
  page: () => never,
}

function idFinder(spec: MemberSpec): FindMistake {
  const { idPrefix } = spec
  if (idPrefix === undefined) return integerFinder({ min: 1, ...spec })
  return textFinder(spec, idWords(idPrefix), (text) => isPrefixedId(idPrefix, text))
}

function typeFinder(type: string, words: string, nullable: boolean): FindMistake {
  const mistake = mistypedAs(words, nullable)
  return (value) => (typeof value === type ? undefined : mistake)
}

function integerFinder({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
  nullable,
}: Pick<MemberSpec, 'min' | 'max' | 'nullable'>): FindMistake {
  return numberFinder({ min, max, nullable }, 'an integer', Number.isInteger)
}

function numberFinder(
  { min = -Infinity, max = Infinity, nullable }: Pick<MemberSpec, 'min' | 'max' | 'nullable'>,
  words: string,
  isNumber: (value: unknown) => boolean,
): FindMistake {
  const mistyped = mistypedAs(words, nullable)
  return (value) => {
    if (!isNumber(value)) return mistyped
    if ((value as number) > max) return ['too_large', `must be at most ${max}`]
    return (value as number) < min ? ['too_small', `must be at least ${min}`] : undefined
  }
}

/** The pattern takes linear time: a declaration has verified its own. */
function patternFinder(spec: MemberSpec): FindMistake {
  const expression = new RegExp(spec.pattern!, 'u')
  const words = spec.words ?? `a match of ${spec.pattern}`
  return textFinder(spec, words, (text) => expression.test(text))
}

function durationFinder({ min, max, nullable }: MemberSpec): FindMistake {
  const words = 'a duration of weeks, days, hours, minutes or seconds, for example PT1H30M'
  const findForm = textFinder({ nullable }, words, (text) => parseDuration(text) !== undefined)
  const bounds = boundFinder(min, max, formatDuration)
  return (value) => findForm(value) ?? bounds(parseDuration(value as string)!)
}

const decimalSize = ({ precision = 0, scale = 0 }: MemberSpec) => ({ precision, scale })

function decimalFinder(spec: MemberSpec): FindMistake {
  const size = decimalSize(spec)
  const { precision, scale } = size
  const digits = `at most ${digitsOf(precision - scale)} before the point and ${scale} after it`
  const words = `a decimal with ${digits}, as text`
  const findForm = textFinder(
    { nullable: spec.nullable },
    words,
    (text) => parseDecimal(text, size) !== undefined,
  )
  const [min, max] = [spec.min, spec.max].map((bound) =>
    bound === undefined ? undefined : boundUnits(bound, scale),
  )
  const bounds = boundFinder(min, max, (units) => formatDecimal(units, scale))
  return (value) => findForm(value) ?? bounds(parseDecimal(value as string, size)!)
}

/** Compares the numbers behind a text, whose bounds the message has as text too. */
function boundFinder(
  min = -Infinity,
  max = Infinity,
  format: (bound: number) => string,
): (value: number) => Mistake | undefined {
  return (value) => {
    if (value > max) return ['too_large', `must be at most ${format(max)}`]
    return value < min ? ['too_small', `must be at least ${format(min)}`] : undefined
  }
}

/** Bounds count code points, as `maxLength` of JSON Schema does. */
function textFinder(
  { min = 0, max = Infinity, nullable }: Pick<MemberSpec, 'min' | 'max' | 'nullable'>,
  format?: string,
  hasFormat?: (text: string) => boolean,
): FindMistake {
  const mistyped = mistypedAs('a string', nullable)
  return (value) => {
    if (typeof value !== 'string') return mistyped
    const units = value.length
    if (units > max && (units > 2 * max || codePoints(value) > max)) {
      return ['too_long', `must have at most ${charactersOf(max)}`]
    }
    if (units < min || (units < 2 * min && codePoints(value) < min)) {
      return ['too_short', `must have at least ${charactersOf(min)}`]
    }
    return !hasFormat || hasFormat(value) ? undefined : ['invalid_format', `must be ${format}`]
  }
}

/** Values that a sentence lists; of a longer set it names the first three. */
const LISTED_MAX = 12

function setFinder({ nullable }: MemberSpec, values: readonly string[]): FindMistake {
  const set = new Set<unknown>(values)
  const mistyped = mistypedAs('a string', nullable)
  const all = nullable ? [...values, 'null'] : values
  const listed = all.length > LISTED_MAX ? `${all.slice(0, 3).join(', ')}, …` : all.join(', ')
  return (value) => {
    if (set.has(value)) return undefined
    return typeof value === 'string' ? ['invalid_value', `must be one of ${listed}`] : mistyped
  }
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

const charactersOf = (count: number): string =>
  count === 1 ? '1 character' : `${count} characters`
const digitsOf = (count: number): string => (count === 1 ? '1 digit' : `${count} digits`)
const entriesOf = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`)
