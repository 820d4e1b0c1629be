/** From field specs to JSON Schema (2020-12): what is validated and what OpenAPI shows. Pure. */
import type { FieldSpec } from './fields.ts'

export type JsonSchema = Record<string, unknown>
export type Specs = Readonly<Record<string, FieldSpec>>

const currencies = Intl.supportedValuesOf('currency')

const base: Readonly<Record<FieldSpec['kind'], (spec: FieldSpec) => JsonSchema>> = {
  id: () => integer({ min: 1 }),
  ref: () => integer({ min: 1 }),
  int: integer,
  number: (spec) => bounded({ type: 'number' }, spec, 'minimum', 'maximum'),
  bool: () => ({ type: 'boolean' }),
  string: (spec) => bounded({ type: 'string' }, spec, 'minLength', 'maxLength'),
  email: (spec) => text(spec, 'email'),
  url: (spec) => text(spec, 'uri'),
  // ISO 4217 changes on its own, and Node's copy of it with it: no promise of ours (§8.11).
  currency: () => ({ type: 'string', enum: currencies, 'x-open-set': true }),
  oneOf: (spec) => ({ type: 'string', enum: spec.values }),
  time: () => ({ type: 'string', format: 'date-time' }),
}

const text = (spec: FieldSpec, format: string): JsonSchema =>
  bounded({ type: 'string', format }, spec, 'minLength', 'maxLength')

function integer(spec: { min?: number; max?: number }): JsonSchema {
  return {
    type: 'integer',
    minimum: spec.min ?? Number.MIN_SAFE_INTEGER,
    maximum: spec.max ?? Number.MAX_SAFE_INTEGER,
  }
}

function bounded(schema: JsonSchema, spec: FieldSpec, min: string, max: string): JsonSchema {
  if (spec.min !== undefined) schema[min] = spec.min
  if (spec.max !== undefined) schema[max] = spec.max
  return schema
}

/** The schema of one field's value. */
export function fieldSchema(spec: FieldSpec): JsonSchema {
  const schema = base[spec.kind](spec)
  if (spec.nullable) {
    schema.type = [schema.type, 'null']
    if (schema.enum) schema.enum = [...(schema.enum as unknown[]), null]
  }
  if (spec.description) schema.description = spec.description
  if (spec.default !== undefined && spec.write === 'optional') schema.default = spec.default
  if (spec.write === 'never') schema.readOnly = true
  return schema
}

const object = (specs: Specs, required: readonly string[]): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, fieldSchema(spec)]),
  ),
})

const writable = (specs: Specs): Specs =>
  Object.fromEntries(Object.entries(specs).filter(([, spec]) => spec.write !== 'never'))

/** A whole row, as answers show it. */
export const rowSchema = (specs: Specs): JsonSchema => object(specs, Object.keys(specs))

/** The body that creates a row, or an action's input. */
export function createSchema(specs: Specs): JsonSchema {
  const open = writable(specs)
  const required = Object.keys(open).filter((name) => open[name]?.write === 'required')
  return object(open, required)
}

/** A merge patch (RFC 7396): any of the writable fields. */
export const patchSchema = (specs: Specs): JsonSchema => object(writable(specs), [])
