/**
 * Validates bodies against a declaration. A 422 reports all errors, each with a JSON pointer
 * (§10.2). Valid bodies become values of rows, with times in epoch milliseconds. Pure.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Failure, type FailureCode, type FieldError } from '../kernel/failure.ts'
import { escapePointer } from '../kernel/members.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import type { AnyRow } from './resource.ts'
import { createSchema, type FieldSpecs, type JsonSchema, patchSchema, rowSchema } from './schema.ts'

/** Validates a body and returns its values as rows have them. Throws `validation_failed`. */
type Validate = (body: unknown) => AnyRow

export interface Validators {
  /** Validates a body that creates a row, and adds defaults. */
  readonly create: Validate
  /** Validates a merge patch. Returns the sent fields only. */
  readonly patch: Validate
  /** Validates values converted from another version: any field of the shape, none required. */
  readonly converted: (row: AnyRow) => FieldError[]
}

const EMAIL = /^[^\s@\p{Cc}]+@[^\s@.\p{Cc}]+(\.[^\s@.\p{Cc}]+)+$/u

const ajv = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  validateSchema: false, // `schema.ts` generates the schemas
})
ajv.addKeyword('x-open-set')
ajv.addFormat('email', EMAIL)
ajv.addFormat('date-time', (text: string) => parseTime(text) !== undefined)
ajv.addFormat('uri', (text: string) => /^https?:\/\//i.test(text) && URL.canParse(text))

/** Members of responses that a client can send back (§8.8). */
const ignoredMembers = ['_links', '_warnings']

export function createValidators(specs: FieldSpecs): Validators {
  const create = bodyValidator(createSchema(specs), specs)
  const defaults = defaultsOf(specs)
  const patch = bodyValidator(patchSchema(specs), specs)
  const compileConverted = lazilyCompiled({ ...rowSchema(specs), required: [] })
  return {
    create: (body) => ({ ...defaults, ...create(body) }),
    patch,
    converted(row) {
      const check = compileConverted()
      return check(toWire(specs, row)) ? [] : fieldErrors(check.errors)
    },
  }
}

/** Compiles a schema at its first use: all of them would take a fifth of the start time. */
function lazilyCompiled(schema: JsonSchema): () => ValidateFunction {
  let check: ValidateFunction | undefined
  return () => (check ??= ajv.compile(schema))
}

function bodyValidator(schema: JsonSchema, specs: FieldSpecs): Validate {
  const compile = lazilyCompiled(schema)
  return (body) => {
    const check = compile()
    const members = limitUnknown(withoutIgnored(body), specs)
    if (check(members)) return parseWire(specs, members as AnyRow)
    throw validationFailure(fieldErrors(check.errors).map((error) => markReadOnly(specs, error)))
  }
}

/** Creates a failure with the first error as its sentence: `email: is taken already`. */
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
  if (!ignoredMembers.some((name) => Object.hasOwn(body, name))) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !ignoredMembers.includes(name)))
}

/** Maximum number of reported unknown members. */
const UNKNOWN_MAX = 50

/**
 * Removes unknown members beyond the maximum: ajv creates an error for each, and a body of 1 MiB
 * can have 70,000 of them.
 */
function limitUnknown(body: unknown, specs: FieldSpecs): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const names = Object.keys(body)
  if (names.length <= UNKNOWN_MAX) return body
  let unknown = 0
  const isReported = (name: string) => Object.hasOwn(specs, name) || ++unknown <= UNKNOWN_MAX
  return Object.fromEntries(Object.entries(body).filter(([name]) => isReported(name)))
}

/** Returns the values of omitted fields. */
export const defaultsOf = (specs: FieldSpecs): AnyRow =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([, spec]) => spec.default !== undefined || spec.nullable)
      .map(([name, spec]) => [name, spec.default ?? null]),
  )

/** Converts JSON values to those of a row: instants become epoch milliseconds. */
export function parseWire(specs: FieldSpecs, wire: AnyRow): AnyRow {
  const row: AnyRow = {}
  for (const [name, value] of Object.entries(wire)) {
    row[name] = specs[name]?.kind === 'time' && value !== null ? parseTime(value) : value
  }
  return row
}

/** Converts values of a row to JSON values. */
function toWire(specs: FieldSpecs, row: AnyRow): AnyRow {
  const wire: AnyRow = {}
  for (const [name, value] of Object.entries(row)) {
    const isInstant = specs[name]?.kind === 'time' && typeof value === 'number'
    wire[name] = isInstant ? isoTime(value) : value
  }
  return wire
}

/** The code and sentence for each keyword of ajv. */
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

/** Maximum number of errors: a response must not be many times the size of the body. */
const ERRORS_MAX = 50

/**
 * Returns one error per pointer: a number in place of an enum value violates both `type` and
 * `enum`.
 */
function fieldErrors(errors: readonly ErrorObject[] | null | undefined): FieldError[] {
  const byPointer = new Map<string, FieldError>()
  for (const error of errors ?? []) {
    const description = fieldError(error)
    if (!byPointer.has(description.pointer!)) byPointer.set(description.pointer!, description)
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

function markReadOnly(specs: FieldSpecs, error: FieldError): FieldError {
  const name = error.pointer?.slice(1) ?? ''
  if (error.code !== 'unknown_field' || !Object.hasOwn(specs, name)) return error
  return { ...error, code: 'read_only', message: 'is set by the service' }
}
