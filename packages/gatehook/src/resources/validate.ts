/**
 * Bodies against a declaration: what does not fit is told all at once, each with its JSON pointer
 * (422, §10.2). Values come out as rows hold them: times in epoch milliseconds. Pure.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Failure, type FailureCode, type FieldError } from '../kernel/failure.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import type { AnyRow } from './resource.ts'
import { createSchema, type JsonSchema, patchSchema, rowSchema, type Specs } from './schema.ts'

/** Checks a body and gives its values as rows hold them; throws `validation_failed`. */
export type Validate = (body: unknown) => AnyRow

export interface Validators {
  /** A body that creates: defaults filled in. */
  readonly create: Validate
  /** A merge patch: only what was sent. */
  readonly patch: Validate
  /** Values another version's body became: any field of the shape, none required. */
  readonly lifted: (row: AnyRow) => FieldError[]
}

const EMAIL = /^[^\s@\p{Cc}]+@[^\s@.\p{Cc}]+(\.[^\s@.\p{Cc}]+)+$/u

const ajv = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  validateSchema: false, // schemas are made by `schema.ts`, never written by hand
})
ajv.addKeyword('x-open-set')
ajv.addFormat('email', EMAIL)
ajv.addFormat('date-time', (text: string) => parseTime(text) !== undefined)
ajv.addFormat('uri', (text: string) => /^https?:\/\//i.test(text) && URL.canParse(text))

/** Members a client may send back as it got them (§8.8). */
const ignored = ['_links', '_warnings']

export function createValidators(specs: Specs): Validators {
  const create = checker(createSchema(specs), specs)
  const defaults = defaultsOf(specs)
  const patch = checker(patchSchema(specs), specs)
  const liftedCheck = compiled({ ...rowSchema(specs), required: [] })
  return {
    create: (body) => ({ ...defaults, ...create(body) }),
    patch,
    lifted(row) {
      const check = liftedCheck()
      return check(toWire(specs, row)) ? [] : fieldErrors(check.errors)
    },
  }
}

/** Compiled when it is first used: doing all of them takes a fifth of a start. */
function compiled(schema: JsonSchema): () => ValidateFunction {
  let check: ValidateFunction | undefined
  return () => (check ??= ajv.compile(schema))
}

function checker(schema: JsonSchema, specs: Specs): Validate {
  const compiledCheck = compiled(schema)
  return (body) => {
    const check = compiledCheck()
    const sent = withFewUnknown(withoutIgnored(body), specs)
    if (check(sent)) return fromWire(specs, sent as AnyRow)
    throw validationFailure(fieldErrors(check.errors).map((error) => readOnly(specs, error)))
  }
}

/** A failure whose sentence is made from what is wrong: `email: is taken already`. */
export function fieldFailure(code: FailureCode, errors: readonly FieldError[]): Failure {
  const [first] = errors
  if (!first) return new Failure(code)
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const where = first.pointer ? `${first.pointer.slice(1)}: ` : ''
  return new Failure(code, `${where}${first.message}${more}`, { errors })
}

export const validationFailure = (errors: readonly FieldError[]): Failure =>
  fieldFailure('validation_failed', errors)

function withoutIgnored(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  if (!ignored.some((name) => Object.hasOwn(body, name))) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !ignored.includes(name)))
}

/** Unknown members of a body that are reported; the rest is not validated. */
const MAX_UNKNOWN = 50

/**
 * A body without the unknown members beyond the bound: ajv builds an error for each, and a body
 * of 1 MiB can have 70,000 of them.
 */
function withFewUnknown(body: unknown, specs: Specs): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const names = Object.keys(body)
  if (names.length <= MAX_UNKNOWN) return body
  let unknown = 0
  const isReported = (name: string) => Object.hasOwn(specs, name) || ++unknown <= MAX_UNKNOWN
  const reported = names.filter(isReported)
  return Object.fromEntries(reported.map((name) => [name, (body as AnyRow)[name]]))
}

/** What a field has where nobody says. */
export const defaultsOf = (specs: Specs): AnyRow =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, spec]) => spec.default !== undefined || spec.nullable)
      .map(([name, spec]) => [name, spec.default ?? null]),
  )

/** From the wire to a row: instants become epoch milliseconds. */
export function fromWire(specs: Specs, wire: AnyRow): AnyRow {
  const row: AnyRow = {}
  for (const [name, value] of Object.entries(wire)) {
    row[name] = specs[name]?.kind === 'time' && value !== null ? parseTime(value) : value
  }
  return row
}

/** From a row to the wire, as an object. */
function toWire(specs: Specs, row: AnyRow): AnyRow {
  const wire: AnyRow = {}
  for (const [name, value] of Object.entries(row)) {
    const instant = specs[name]?.kind === 'time' && typeof value === 'number'
    wire[name] = instant ? isoTime(value) : value
  }
  return wire
}

/** ajv keyword → our code and sentence. */
const keywords: Readonly<
  Record<string, readonly [code: string, message: (params: AnyRow, error: ErrorObject) => string]>
> = {
  required: ['required', () => 'is required'],
  additionalProperties: ['unknown_field', () => 'is not a field here'],
  type: ['invalid_type', (params) => `must be ${list(params.type)}`],
  enum: ['invalid_value', (params) => `must be one of ${some(params.allowedValues)}`],
  format: ['invalid_format', (params) => `must be ${formats[params.format] ?? params.format}`],
  minimum: ['too_small', (params) => `must be at least ${params.limit}`],
  maximum: ['too_large', (params) => `must be at most ${params.limit}`],
  minLength: ['too_short', (params) => `must have at least ${characters(params.limit)}`],
  maxLength: ['too_long', (params) => `must have at most ${characters(params.limit)}`],
}
const formats: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  uri: 'an absolute http or https URL',
  'date-time': 'an ISO 8601 instant, for example 2026-01-31T12:00:00Z',
}
const characters = (count: number): string => (count === 1 ? '1 character' : `${count} characters`)
const list = (types: unknown): string => [types].flat().join(' or ')
const some = (values: readonly unknown[]): string =>
  values.length > 12 ? `${values.slice(0, 3).join(', ')}, …` : values.map(String).join(', ')

/** Told at most: a body of unknown members must not come back many times its size. */
const ERRORS_MAX = 50

/**
 * One error a place: a number where a word of a set is due breaks `type` and `enum`, and says so
 * once.
 */
function fieldErrors(errors: readonly ErrorObject[] | null | undefined): FieldError[] {
  const byPointer = new Map<string, FieldError>()
  for (const error of errors ?? []) {
    const told = fieldError(error)
    if (!byPointer.has(told.pointer!)) byPointer.set(told.pointer!, told)
    if (byPointer.size === ERRORS_MAX) break
  }
  return [...byPointer.values()]
}

function fieldError(error: ErrorObject): FieldError {
  const params = error.params as AnyRow
  const member = params.missingProperty ?? params.additionalProperty
  const pointer = error.instancePath + (member === undefined ? '' : `/${escapePointer(member)}`)
  const [code, message] = keywords[error.keyword] ?? ['invalid_value', () => error.message ?? '']
  return { pointer, code, message: message(params, error) }
}

/** RFC 6901 §3. */
const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

function readOnly(specs: Specs, error: FieldError): FieldError {
  const name = error.pointer?.slice(1) ?? ''
  if (error.code !== 'unknown_field' || !Object.hasOwn(specs, name)) return error
  return { ...error, code: 'read_only', message: 'is set by the service' }
}
