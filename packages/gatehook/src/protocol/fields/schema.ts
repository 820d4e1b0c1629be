/** The JSON Schema of fields and members, for OpenAPI and for the gate. Pure. */
import { exceedsEvents } from './event-texts.ts'
import type { FieldSpec } from './fields.ts'
import { toJson } from './forms.ts'
import type { JsonSchema } from './json-schema.ts'
import type { SchemaContext } from './kind.ts'
import { memberKindOf } from './kinds/table.ts'
import { patchSpecs } from './merge-patch.ts'
import type { MemberSpec } from './spec.ts'

export type FieldSpecs = Readonly<Record<string, FieldSpec>>

const inline: SchemaContext = {
  isClosed: false,
  reference: (_name, schema) => schema(),
  page: (items) => ({ type: 'array', items }),
}

/** The extension with the unit of a number. */
export const UNIT = 'x-unit'

/** Returns the schema of a member's value. A named schema that allows null is not shared. */
export function valueSchema(spec: MemberSpec, context: SchemaContext = inline): JsonSchema {
  const { name, nullable, description, example, unit } = spec
  const create = (): JsonSchema => {
    const schema = memberKindOf(spec).schema(spec, {
      ...context,
      schemaOf: (inner) => valueSchema(inner, context),
      memberSchemaOf: (inner) => withDefault(valueSchema(inner, context), inner),
    })
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
/** The extension with the default of a field that needs a scope in bodies. */
export const SCOPED_DEFAULT = 'x-default'

/**
 * Returns the schema of a field in bodies. One that needs a scope has no `default`: some generated
 * clients send each, which is 422 for callers without the scope.
 */
function bodyFieldSchema(spec: FieldSpec, context: SchemaContext): JsonSchema {
  const schema = fieldSchema(spec, context)
  if (spec.isWriteOnly) schema.writeOnly = true
  if (spec.writableBy === undefined) return schema
  const { default: value, ...rest } = schema
  const scoped = value === undefined ? {} : { [SCOPED_DEFAULT]: value }
  return { ...rest, ...scoped, [WRITE_SCOPE]: spec.writableBy }
}

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

/** Returns the schema of a row in responses and events. Fields that not all have can be absent. */
export function rowSchema(specs: FieldSpecs): JsonSchema {
  const returned = Object.entries(specs).filter(([, { isWriteOnly }]) => !isWriteOnly)
  const required = returned.filter(
    ([, spec]) => spec.visibleTo === undefined && !exceedsEvents(spec),
  )
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
