/** The JSON Schema of a declared field: for validation, and for OpenAPI. Pure. */
import type { FieldSpec } from './fields.ts'

export type JsonSchema = Record<string, unknown>
export type FieldSpecs = Readonly<Record<string, FieldSpec>>

const currencies = Intl.supportedValuesOf('currency')

const schemaByKind: Readonly<Record<FieldSpec['kind'], (spec: FieldSpec) => JsonSchema>> = {
  id: () => integerSchema({ min: 1 }),
  ref: () => integerSchema({ min: 1 }),
  int: integerSchema,
  number: (spec) => withBounds({ type: 'number' }, spec, 'minimum', 'maximum'),
  bool: () => ({ type: 'boolean' }),
  string: (spec) => withBounds({ type: 'string' }, spec, 'minLength', 'maxLength'),
  email: (spec) => stringSchema(spec, 'email'),
  url: (spec) => stringSchema(spec, 'uri'),
  // ISO 4217, and Node's copy of it, change without notice: callers must expect new codes (§8.11).
  currency: () => ({ type: 'string', enum: currencies, 'x-open-set': true }),
  oneOf: (spec) => ({ type: 'string', enum: spec.values }),
  time: () => ({ type: 'string', format: 'date-time' }),
}

const stringSchema = (spec: FieldSpec, format: string): JsonSchema =>
  withBounds({ type: 'string', format }, spec, 'minLength', 'maxLength')

function integerSchema(spec: { min?: number; max?: number }): JsonSchema {
  return {
    type: 'integer',
    minimum: spec.min ?? Number.MIN_SAFE_INTEGER,
    maximum: spec.max ?? Number.MAX_SAFE_INTEGER,
  }
}

function withBounds(schema: JsonSchema, spec: FieldSpec, min: string, max: string): JsonSchema {
  if (spec.min !== undefined) schema[min] = spec.min
  if (spec.max !== undefined) schema[max] = spec.max
  return schema
}

/** Returns the schema of a field's value. */
export function fieldSchema(spec: FieldSpec): JsonSchema {
  const schema = schemaByKind[spec.kind](spec)
  if (spec.nullable) {
    schema.type = [schema.type, 'null']
    if (schema.enum) schema.enum = [...(schema.enum as unknown[]), null]
  }
  if (spec.description) schema.description = spec.description
  if (spec.default !== undefined && spec.write === 'optional') schema.default = spec.default
  if (spec.write === 'never') schema.readOnly = true
  return schema
}

const objectSchema = (specs: FieldSpecs, required: readonly string[]): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, fieldSchema(spec)]),
  ),
})

const writableSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(Object.entries(specs).filter(([, spec]) => spec.write !== 'never'))

/** Returns the schema of a row in responses. */
export const rowSchema = (specs: FieldSpecs): JsonSchema => objectSchema(specs, Object.keys(specs))

/** Returns the schema of a body that creates a row, or of an action's input. */
export function createSchema(specs: FieldSpecs): JsonSchema {
  const fields = writableSpecs(specs)
  const required = Object.keys(fields).filter((name) => fields[name]?.write === 'required')
  return objectSchema(fields, required)
}

/**
 * Returns the schema of a merge patch: any of the writable fields.
 *
 * @see RFC 7396
 */
export const patchSchema = (specs: FieldSpecs): JsonSchema => objectSchema(writableSpecs(specs), [])
