/**
 * Adds the bounds that follow from the transport to schemas without bounds of their own: sizes of
 * URLs, bodies and responses (§11.4, §11.5), integers that JSON can represent. `declare/gate/`
 * compares documents without them: they are no promise of a resource.
 */
import type { JsonSchema } from '../fields/json-schema.ts'
import { defaultEgressBounds } from '../http/egress.ts'
import { defaultLimits } from '../http/exchange.ts'
import type { SchemaPlace, VisitedSchema } from './schema-walk.ts'

const SIZES: Readonly<Record<SchemaPlace, number>> = {
  parameter: defaultLimits.urlBytes,
  body: defaultLimits.bodyBytes,
  response: defaultEgressBounds.responseBytes,
}

/** An item has at least one byte and a comma. */
const ITEM_BYTES_MIN = 2

/** A pattern of a fixed number of characters, such as that of ids. */
const FIXED_PATTERN = /^\^(\w+)\[[^\]]+\]\{(\d+)\}\$$/

/** Returns the characters that a pattern requires, unless it leaves them open. */
function lengthOf(pattern: unknown): number | undefined {
  const [, start, count] = FIXED_PATTERN.exec(String(pattern)) ?? []
  return start === undefined ? undefined : start.length + Number(count)
}

/** Adds missing bounds and formats in place. */
export function addBounds({ schema, place }: VisitedSchema): void {
  const types = [schema.type].flat()
  const isFixed = schema.enum !== undefined || schema.const !== undefined
  const bounds: JsonSchema = {}
  if (types.includes('integer')) {
    bounds.format = 'int64'
    if (!isFixed) {
      bounds.minimum = Number.MIN_SAFE_INTEGER
      bounds.maximum = Number.MAX_SAFE_INTEGER
    }
  }
  if (types.includes('string') && !isFixed) {
    bounds.maxLength = lengthOf(schema.pattern) ?? SIZES[place]
  }
  if (types.includes('array')) bounds.maxItems = SIZES[place] / ITEM_BYTES_MIN
  for (const [keyword, value] of Object.entries(bounds)) schema[keyword] ??= value
}
