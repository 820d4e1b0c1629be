/** Parts of JSON Schema that several kinds share. Pure. */

export type JsonSchema = Record<string, unknown>

/**
 * The extension with the name of a text that has no standard format. Some generators would read
 * `format: decimal` as a floating-point number.
 */
export const TEXT_KIND = 'x-text'

interface SchemaBounds {
  readonly min?: number | string
  readonly max?: number | string
}

/** Adds the bounds of a field as the two keywords. */
export function withBounds(
  schema: JsonSchema,
  spec: SchemaBounds,
  min: string,
  max: string,
): JsonSchema {
  if (spec.min !== undefined) schema[min] = spec.min
  if (spec.max !== undefined) schema[max] = spec.max
  return schema
}

/** JSON Schema has no bounds for a text that is a number: extensions have them as texts. */
export const withTextBounds = (schema: JsonSchema, bounds: SchemaBounds): JsonSchema =>
  withBounds(schema, bounds, 'x-minimum', 'x-maximum')

interface TextBounds {
  readonly format?: string
  readonly min?: number
  readonly max?: number
}

export const textSchema = (spec: TextBounds): JsonSchema =>
  withBounds(
    { type: 'string', ...(spec.format && { format: spec.format }) },
    spec,
    'minLength',
    'maxLength',
  )

export const integerSchema = (spec: { min?: number; max?: number }): JsonSchema => ({
  type: 'integer',
  minimum: spec.min ?? Number.MIN_SAFE_INTEGER,
  maximum: spec.max ?? Number.MAX_SAFE_INTEGER,
})
