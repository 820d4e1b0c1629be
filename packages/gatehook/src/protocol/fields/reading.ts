/** Readers of JSON values, of which kinds compose theirs. Pure. */
import { oneOfWords } from '../../kernel/closest.ts'
import type { MistakeCode } from '../../kernel/mistakes.ts'
import type { MemberSpec } from './spec.ts'

/** A function: the words cost work, which a mistake beyond the reported ones must not cause. */
type MistakeWords = string | (() => string)
type Report = (pointer: string, code: MistakeCode, message: MistakeWords) => undefined
/** Converts a valid value; reports the mistakes of any other. */
export type ReadValue = (value: unknown, pointer: string, report: Report) => unknown
export type Mistake = readonly [code: MistakeCode, message: MistakeWords]
export type FindMistake = (value: unknown) => Mistake | undefined

/** The bounds of a value that has a null or none. */
type Bounds = Pick<MemberSpec, 'min' | 'max' | 'nullable'>

/** RFC 6901 §3. */
export const escapePointer = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * The longest name of a body in messages and pointers, in characters; declared names are shorter.
 * An error repeats a name several times, and its escaped form is up to twice as long: whole names
 * would make an answer many times the size of a body. Names of a URL are bounded with it.
 */
export const NAME_CHARACTERS_MAX = 200

/** Returns the beginning of a name that a client sent, with an ellipsis, if it is long. */
const shortenName = (name: string): string =>
  name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX).toWellFormed()}…` : name

/** Returns the part of a pointer for a name that a client sent. */
export const pointerPart = (name: string): string => escapePointer(shortenName(name))

type PlainObject = Readonly<Record<string, unknown>>

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the function that returns the mistake of a value of another type than expected. */
export const mistypedAs =
  (type: string, nullable: boolean, form = '') =>
  (value: unknown): Mistake => [
    'invalid_type',
    () => `must be ${type}${nullable ? ' or null' : ''}, not ${typeWords(value)}${form}`,
  ]

/** Returns the type of a value, which may be secret. */
function typeWords(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (value === '') return 'an empty string'
  if (typeof value === 'object') return 'an object'
  return Number.isFinite(value) && !Number.isInteger(value) ? 'a fraction' : `a ${typeof value}`
}

/** Ends a sentence about a text: a message without the text says nothing about an empty one. */
export const emptyClause = (text: string): string => (text === '' ? ', not an empty string' : '')

/** Creates the reader of a value that contains no others. `convert` receives valid JSON. */
export function createReader(
  findMistake: FindMistake,
  convert?: (json: never) => unknown,
): ReadValue {
  return (value, pointer, report) => {
    const mistake = findMistake(value)
    if (mistake) return report(pointer, ...mistake)
    return convert ? convert(value as never) : value
  }
}

export const acceptAny: FindMistake = () => undefined

export function typeFinder(type: string, words: string, nullable: boolean): FindMistake {
  const mistyped = mistypedAs(words, nullable)
  return (value) => (typeof value === type ? undefined : mistyped(value))
}

export const integerFinder = ({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
  nullable,
}: Bounds): FindMistake => numberFinder({ min, max, nullable }, 'an integer', Number.isInteger)

export function numberFinder(
  { min = -Infinity, max = Infinity, nullable }: Bounds,
  words: string,
  isNumber: (value: unknown) => boolean,
): FindMistake {
  const mistyped = mistypedAs(words, nullable)
  return (value) => {
    if (!isNumber(value)) return mistyped(value)
    if ((value as number) > max) return ['too_large', `must be at most ${max}`]
    return (value as number) < min ? ['too_small', `must be at least ${min}`] : undefined
  }
}

/** Compares the numbers behind a text, whose bounds the message has as text too. */
export function boundFinder(
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
export function textFinder(
  { min = 0, max = Infinity, nullable }: Bounds,
  format?: string,
  hasFormat?: (text: string) => boolean,
): FindMistake {
  const mistyped = mistypedAs('a string', nullable, format && `: ${format}`)
  return (value) => {
    if (typeof value !== 'string') return mistyped(value)
    const units = value.length
    if (units > max && (units > 2 * max || codePoints(value) > max)) {
      return ['too_long', `must have at most ${charactersOf(max)}`]
    }
    if (units < min || (units < 2 * min && codePoints(value) < min)) {
      return ['too_short', `must have at least ${charactersOf(min)}`]
    }
    if (!hasFormat || hasFormat(value)) return undefined
    return ['invalid_format', `must be ${format}${emptyClause(value)}`]
  }
}

export function setFinder({ nullable }: MemberSpec, values: readonly string[]): FindMistake {
  const set = new Set<unknown>(values)
  const mistyped = mistypedAs('a string', nullable)
  const all = nullable ? [...values, 'null'] : values
  return (value) => {
    if (set.has(value)) return undefined
    if (typeof value !== 'string') return mistyped(value)
    return ['invalid_value', () => `must be ${oneOfWords(value, all)}${emptyClause(value)}`]
  }
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

const countOf = (count: number, noun: string, nouns: string): string =>
  `${count} ${count === 1 ? noun : nouns}`
export const charactersOf = (count: number): string => countOf(count, 'character', 'characters')
export const digitsOf = (count: number): string => countOf(count, 'digit', 'digits')
export const entriesOf = (count: number): string => countOf(count, 'entry', 'entries')
