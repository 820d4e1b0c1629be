/** The JSON Schema of fields and members, for OpenAPI and for the gate. Pure. */
import { rowIdPattern } from '../../kernel/row-id.ts'
import { boundUnits, decimalPattern, formatDecimal } from './decimal.ts'
import { DURATION_PATTERN, formatDuration } from './duration.ts'
import type { FieldSpec } from './fields.ts'
import { toJson } from './forms.ts'
import { patchSpecs } from './merge-patch.ts'
import { currencies, LINE, METADATA_KEY, TIME_OF_DAY } from './reader.ts'
import type { MemberSpec } from './spec.ts'

export type JsonSchema = Record<string, unknown>
export type FieldSpecs = Readonly<Record<string, FieldSpec>>

/** How the schemas of a document refer to each other. */
export interface SchemaContext {
  /** Whether objects are closed: inputs of a new document, and responses that a test verifies. */
  readonly isClosed: boolean
  /** Returns a reference to a named schema, or the schema itself. */
  reference(name: string, schema: () => JsonSchema): JsonSchema
  /** Returns the schema of a page of items. */
  page(items: JsonSchema): JsonSchema
}

const inline: SchemaContext = {
  isClosed: false,
  reference: (_name, schema) => schema(),
  page: (items) => ({ type: 'array', items }),
}

/**
 * The extension with the name of a text that has no standard format. Some generators would read
 * `format: decimal` as a floating-point number.
 */
export const TEXT_KIND = 'x-text'

/** `http://` or `https://`; schemes have no case. */
const WEB_URL_START = '^[Hh][Tt][Tt][Pp][Ss]?://'

type SchemaOf = (spec: MemberSpec, context: SchemaContext) => JsonSchema

const schemaByKind: Readonly<Record<MemberSpec['kind'], SchemaOf>> = {
  id: idSchema,
  ref: idSchema,
  int: integerSchema,
  number: (spec) => withBounds({ type: 'number' }, spec, 'minimum', 'maximum'),
  bool: () => ({ type: 'boolean' }),
  string: stringSchema,
  text: stringSchema,
  line: (spec) => ({ ...stringSchema(spec), pattern: LINE.source }),
  // Addresses may have characters beyond ASCII, which the format `email` excludes.
  email: (spec) => stringSchema({ ...spec, format: 'idn-email' }),
  url: (spec) => ({ ...stringSchema({ ...spec, format: 'uri' }), pattern: WEB_URL_START }),
  // ISO 4217, and Node's copy of it, change without notice: callers must expect new codes (§8.11).
  currency: () => ({ type: 'string', enum: currencies, 'x-open-set': true }),
  oneOf: ({ values, isOpen }) => ({
    type: 'string',
    enum: values,
    ...(isOpen && { 'x-open-set': true }),
  }),
  time: () => ({ type: 'string', format: 'date-time' }),
  date: () => ({ type: 'string', format: 'date' }),
  // The format `time` requires a time zone.
  timeOfDay: () => ({ type: 'string', pattern: TIME_OF_DAY.source, format: 'time-local' }),
  duration: ({ min, max }) =>
    withBounds(
      // The format `duration` excludes fractions.
      { type: 'string', pattern: DURATION_PATTERN, [TEXT_KIND]: 'duration' },
      {
        ...(min !== undefined && min > 0 && { min: formatDuration(min) }),
        ...(max !== undefined && { max: formatDuration(max) }),
      },
      'x-minimum',
      'x-maximum',
    ),
  uuid: () => ({ type: 'string', format: 'uuid' }),
  decimal: decimalSchema,
  pattern: (spec) => ({ ...stringSchema(spec), pattern: spec.pattern }),
  // A body may also have a date: a union of two formats is a type that generators lack.
  instant: () => ({ type: 'string', format: 'date-time' }),
  list: (spec, context) => ({
    ...withBounds({ type: 'array' }, spec, 'minItems', 'maxItems'),
    items: valueSchema(spec.items!, context),
  }),
  map: ({ items }, context) => ({
    type: 'object',
    additionalProperties: valueSchema(items!, context),
  }),
  object: ({ members, isOpen }, context) => {
    if (!members) return { type: 'object' }
    const schema = membersSchema(members, context)
    return isOpen ? { ...schema, additionalProperties: true } : schema
  },
  metadata: ({ items, max }, context) => ({
    type: 'object',
    additionalProperties: valueSchema(items!, context),
    propertyNames: { pattern: METADATA_KEY.source },
    maxProperties: max,
  }),
  // Any value: generators have no type for a union of the others.
  json: ({ max }) => (max === undefined ? {} : { 'x-max-json-length': max }),
  page: ({ items }, context) => context.page(valueSchema(items!, context)),
}

/** The schema of an id, also in paths and queries. */
export function idSchema({ idPrefix }: Pick<MemberSpec, 'idPrefix'>): JsonSchema {
  if (idPrefix === undefined) return integerSchema({ min: 1 })
  return { type: 'string', pattern: rowIdPattern(idPrefix) }
}

/**
 * JSON Schema has no bounds for text that is a number. Without a format: some generators read
 * `decimal` as a floating-point number.
 */
function decimalSchema({ precision = 0, scale = 0, min, max }: MemberSpec): JsonSchema {
  const pattern = decimalPattern({ precision, scale })
  return withBounds(
    { type: 'string', pattern, [TEXT_KIND]: 'decimal' },
    {
      ...(min !== undefined && { min: formatDecimal(boundUnits(min, scale), scale) }),
      ...(max !== undefined && { max: formatDecimal(boundUnits(max, scale), scale) }),
    },
    'x-minimum',
    'x-maximum',
  )
}

function stringSchema(spec: Pick<MemberSpec, 'format' | 'min' | 'max'>): JsonSchema {
  const schema = { type: 'string', ...(spec.format && { format: spec.format }) }
  return withBounds(schema, spec, 'minLength', 'maxLength')
}

function membersSchema(
  members: NonNullable<MemberSpec['members']>,
  context: SchemaContext,
): JsonSchema {
  const entries = Object.entries(members)
  return {
    type: 'object',
    required: entries.filter(([, { write }]) => write === 'required').map(([name]) => name),
    properties: Object.fromEntries(
      entries.map(([name, spec]) => [name, withDefault(valueSchema(spec, context), spec)]),
    ),
    ...(context.isClosed && { additionalProperties: false }),
  }
}

function integerSchema(spec: { min?: number; max?: number }): JsonSchema {
  return {
    type: 'integer',
    minimum: spec.min ?? Number.MIN_SAFE_INTEGER,
    maximum: spec.max ?? Number.MAX_SAFE_INTEGER,
  }
}

function withBounds(
  schema: JsonSchema,
  spec: { min?: number | string; max?: number | string },
  min: string,
  max: string,
): JsonSchema {
  if (spec.min !== undefined) schema[min] = spec.min
  if (spec.max !== undefined) schema[max] = spec.max
  return schema
}

/** The extension with the unit of a number. */
export const UNIT = 'x-unit'

/** Returns the schema of a member's value. A named schema that allows null is not shared. */
export function valueSchema(spec: MemberSpec, context: SchemaContext = inline): JsonSchema {
  const { name, nullable, description, example, unit } = spec
  const create = (): JsonSchema => {
    const schema = schemaByKind[spec.kind](spec, context)
    if (nullable && schema.type !== undefined) {
      schema.type = [schema.type, 'null'].flat()
      if (schema.enum) schema.enum = [...(schema.enum as unknown[]), null]
    }
    if (description) schema.description = description
    if (unit !== undefined) schema[UNIT] = unit
    if (example !== undefined) schema.examples = [example]
    return schema
  }
  return name && !nullable ? context.reference(name, create) : create()
}

const withDefault = (schema: JsonSchema, spec: MemberSpec): JsonSchema =>
  spec.default !== undefined && spec.write === 'optional'
    ? { ...schema, default: toJson(spec, spec.default) }
    : schema

/** Returns the schema of a declared field's value. */
function fieldSchema(spec: MemberSpec, context?: SchemaContext): JsonSchema {
  const schema = withDefault(valueSchema(spec, context), spec)
  if (spec.write === 'never') schema.readOnly = true
  return schema
}

/** Returns the schema of a query parameter, which is a text: it has no null (§7.7). */
export function parameterSchema(spec: MemberSpec, context?: SchemaContext): JsonSchema {
  const schema = fieldSchema({ ...spec, nullable: false }, context)
  delete schema.readOnly
  if (schema.default === null) delete schema.default
  return schema
}

/** The extensions with the scope that a field needs in responses, and in bodies. */
export const READ_SCOPE = 'x-read-scope'
export const WRITE_SCOPE = 'x-write-scope'

/** Returns the schema of a field in bodies. */
const bodyFieldSchema = (spec: FieldSpec, context: SchemaContext): JsonSchema => ({
  ...fieldSchema(spec, context),
  ...(spec.isWriteOnly && { writeOnly: true }),
  ...(spec.writableBy !== undefined && { [WRITE_SCOPE]: spec.writableBy }),
})

const objectSchema = <S extends MemberSpec>(
  specs: Readonly<Record<string, S>>,
  required: readonly string[],
  schemaOf: (spec: S) => JsonSchema,
): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [name, schemaOf(spec)]),
  ),
})

const bodySchema = (specs: FieldSpecs, required: readonly string[]): JsonSchema =>
  objectSchema(specs, required, (spec) => bodyFieldSchema(spec, closed))

/** The objects of a body have no undeclared members. */
const closed: SchemaContext = { ...inline, isClosed: true }

/** Returns the field in responses, whose objects have every member. */
const shownSpec = <S extends MemberSpec>(spec: S): S =>
  spec.members
    ? {
        ...spec,
        members: Object.fromEntries(
          Object.entries(spec.members).map(([name, { default: _default, ...member }]) => [
            name,
            shownSpec({ ...member, write: 'required' }),
          ]),
        ),
      }
    : spec.items
      ? { ...spec, items: shownSpec(spec.items) }
      : spec

const shownSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, shownSpec(spec)]))

const writableSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(Object.entries(specs).filter(([, spec]) => spec.write !== 'never'))

/** Returns the fields that a patch can change. */
export const changeableSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(Object.entries(specs).filter(([, { isWriteOnce }]) => !isWriteOnce))

/** Returns the schema of a row in responses. Fields that need a scope can be absent. */
export function rowSchema(specs: FieldSpecs): JsonSchema {
  const returned = Object.entries(specs).filter(([, { isWriteOnly }]) => !isWriteOnly)
  const required = returned.filter(([, { visibleTo }]) => visibleTo === undefined)
  return objectSchema(
    shownSpecs(Object.fromEntries(returned)),
    required.map(([name]) => name),
    (spec) => ({
      ...fieldSchema(spec),
      ...(spec.visibleTo !== undefined && { [READ_SCOPE]: spec.visibleTo }),
    }),
  )
}

/** Returns the schema of a body that creates a row, or of an action's input. */
export function createSchema(specs: FieldSpecs): JsonSchema {
  const fields = writableSpecs(specs)
  const required = Object.keys(fields).filter((name) => fields[name]?.write === 'required')
  return bodySchema(fields, required)
}

/**
 * Returns the schema of a merge patch: any of the writable fields.
 *
 * @see RFC 7396
 */
export const patchSchema = (specs: FieldSpecs): JsonSchema =>
  bodySchema(patchSpecs(changeableSpecs(writableSpecs(specs))) as FieldSpecs, [])
