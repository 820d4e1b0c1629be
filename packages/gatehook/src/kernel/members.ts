/**
 * Validates JSON objects with declared members (§10.2) and reports every mistake with its pointer.
 * Pure. Resources validate by their fields instead (`resources/validate.ts`).
 */
import { Failure, type FieldError } from './failure.ts'
import { parseTime } from './time.ts'

const MAX_ERRORS = 50

/** Reports a mistake in the current value; `below` is a pointer inside it. Returns undefined. */
type Wrong = (message: string, below?: string, code?: string) => undefined
/** Converts a JSON value, or reports its mistakes to `wrong`. */
export type Read<T> = (value: unknown, wrong: Wrong) => T | undefined

export interface Member<T, R extends boolean> {
  readonly required: R
  readonly read: Read<T>
}

export type Members = Readonly<Record<string, Member<unknown, boolean>>>

export type ValuesOf<M extends Members> = {
  readonly [K in keyof M]: M[K] extends Member<infer T, infer R>
    ? R extends true
      ? T
      : T | undefined
    : never
}

export const required = <T>(read: Read<T>): Member<T, true> => ({ required: true, read })
export const optional = <T>(read: Read<T>): Member<T, false> => ({ required: false, read })

/** Returns the 422 for mistakes that a check beyond the members reports. */
export const invalidMembers = (errors: readonly FieldError[]): Failure =>
  new Failure('validation_failed', undefined, { errors: errors.slice(0, MAX_ERRORS) })

/**
 * Validates an object and converts its members.
 *
 * @throws `validation_failed` (422) with every mistake.
 * @example
 * const { name } = readMembers(call.body, { name: required(line(100)) })
 */
export function readMembers<M extends Members>(input: unknown, members: M): ValuesOf<M> {
  const errors: FieldError[] = []
  const values = object(members)(input, (message, pointer = '', code = 'invalid_value') => {
    if (errors.length < MAX_ERRORS) errors.push({ pointer, code, message })
    return undefined
  })
  if (values === undefined || errors.length > 0) throw invalidMembers(errors)
  return values
}

/** Reads a nested object. */
export const object =
  <M extends Members>(members: M): Read<ValuesOf<M>> =>
  (input, wrong) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      return wrong('must be an object')
    }
    let unknown = 0
    for (const name in input) {
      if (Object.hasOwn(members, name)) continue
      if (++unknown > MAX_ERRORS) break
      wrong('is not a field here', `/${escapePointer(name)}`, 'unknown_field')
    }
    const values: Record<string, unknown> = {}
    for (const [name, member] of Object.entries(members)) {
      const here: Wrong = (message, below = '', code) => wrong(message, `/${name}${below}`, code)
      const value = Object.hasOwn(input, name)
        ? (input as Record<string, unknown>)[name]
        : undefined
      if (value !== undefined) values[name] = member.read(value, here)
      else if (member.required) here('is required', '', 'required')
    }
    return values as ValuesOf<M>
  }

/** RFC 6901 §3. */
export const escapePointer = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Accepts `null` besides the values that `read` accepts. */
export const orNull =
  <T>(read: Read<T>): Read<T | null> =>
  (value, wrong) =>
    value === null ? null : read(value, wrong)

/** Reads a line of text: 1 to `max` UTF-16 units without control characters. */
export const line =
  (max: number): Read<string> =>
  (value, wrong) => {
    if (typeof value !== 'string') return wrong('must be a string')
    if (value.trim() === '' || value.length > max) {
      return wrong(`must have 1 to ${max} characters`)
    }
    if (/[\x00-\x1f\x7f]/.test(value) || !value.isWellFormed()) {
      return wrong('must be one line of valid Unicode')
    }
    return value
  }

export const bool: Read<boolean> = (value, wrong) =>
  typeof value === 'boolean' ? value : wrong('must be true or false')

export const integer =
  (min: number, max: number): Read<number> =>
  (value, wrong) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? (value as number)
      : wrong(`must be a whole number from ${min} to ${max}`)

export const oneOf =
  <const T extends readonly string[]>(...values: T): Read<T[number]> =>
  (value, wrong) =>
    values.includes(value as string)
      ? (value as T[number])
      : wrong(`must be one of ${values.join(', ')}`)

/** Reads an ISO 8601 instant, or a date as its midnight in UTC, as epoch milliseconds. */
export const instant: Read<number> = (value, wrong) =>
  (typeof value === 'string' ? parseTime(value) : undefined) ??
  wrong('must be an ISO 8601 instant, for example 2027-01-31T00:00:00Z')

/** Reads an array of at most `max` values and removes duplicates. */
export const setOf =
  <T>(read: Read<T>, max: number): Read<readonly T[]> =>
  (value, wrong) => {
    if (!Array.isArray(value)) return wrong('must be an array')
    if (value.length > max) return wrong(`must have at most ${max} entries`)
    const items = new Set<T>()
    for (const [n, entry] of value.entries()) {
      const item = read(entry, (message, below = '') => wrong(message, `/${n}${below}`))
      if (item !== undefined) items.add(item)
    }
    return [...items]
  }
