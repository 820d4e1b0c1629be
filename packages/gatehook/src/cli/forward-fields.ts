/** The code of fields for the schemas of an OpenAPI document of another service (§17.5). Pure. */
import { isPlainObject } from '../protocol/fields/reading.ts'

export type JsonMap = Readonly<Record<string, unknown>>

/** Larger than any value of a body. */
const ANY_LENGTH = '.max(1_048_576)'
const ITEMS_MAX = 1_000
/** Deeper values, and those of schemas that contain themselves, are any JSON. */
const DEPTH_MAX = 3
const REFERENCES_MAX = 8
/** Members of nested objects in the fields of one schema; further ones are any JSON. */
const NESTED_MAX = 500
const NAME = /^[A-Za-z_$][\w$]*$/

export const objectOf = (value: unknown): JsonMap => (isPlainObject(value) ? value : {})

/** Returns a text as code. */
export const quote = (text: string): string =>
  /^[\x20-\x7e]*$/.test(text) && !/['\\]/.test(text) ? `'${text}'` : JSON.stringify(text)

export const propertyName = (name: string): string => (NAME.test(name) ? name : quote(name))

interface Resolved {
  readonly schema: JsonMap
  readonly isNullable: boolean
}

/** Follows references, and alternatives with null; other alternatives have no form. */
export function resolveSchema(document: JsonMap, given: unknown, depth = 0): Resolved {
  const schema = objectOf(given)
  if (depth > REFERENCES_MAX) return { schema: {}, isNullable: true }
  if (typeof schema.$ref === 'string') {
    return resolveSchema(document, targetOf(document, schema.$ref), depth + 1)
  }
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray)
  if (choices) {
    const others = choices.filter((choice) => objectOf(choice).type !== 'null')
    const isNullable = others.length < choices.length
    if (others.length !== 1) return { schema: {}, isNullable }
    const inner = resolveSchema(document, others[0], depth + 1)
    return { schema: inner.schema, isNullable: isNullable || inner.isNullable }
  }
  const types = [schema.type].flat().filter((type) => type !== 'null')
  const isNullable = schema.nullable === true || types.length < [schema.type].flat().length
  return { schema: { ...schema, type: types.length === 1 ? types[0] : undefined }, isNullable }
}

function targetOf(document: JsonMap, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  const names = reference.slice(2).split('/')
  const decoded = names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return decoded.reduce<unknown>((value, name) => objectOf(value)[name], document)
}

/** The document, and the nested members that the fields may still have. */
interface Source {
  readonly document: JsonMap
  nestedLeft: number
}

/** Returns the code of a field; any JSON for a schema without a form. */
function fieldCode(source: Source, schema: JsonMap, depth: number): string {
  const { type, enum: values, format, maxLength } = schema
  if (Array.isArray(values)) {
    const texts = values.filter((value): value is string => typeof value === 'string')
    const isText = texts.length > 0 && texts.length === values.filter((v) => v !== null).length
    if (isText) return `f.oneOf([${[...new Set(texts)].map(quote).join(', ')}])`
  }
  if (type === 'string') {
    if (format === 'date') return 'f.date()'
    const isLength = Number.isInteger(maxLength) && Number(maxLength) > 0
    return `f.string()${isLength ? `.max(${maxLength})` : ANY_LENGTH}`
  }
  if (type === 'integer') return `f.int()${boundsCode(schema, true)}`
  if (type === 'number') return `f.number()${boundsCode(schema, false)}`
  if (type === 'boolean') return 'f.bool()'
  const isNested = depth < DEPTH_MAX
  if (type === 'array' && isNested) {
    const item = resolveSchema(source.document, schema.items)
    if (!item.isNullable && item.schema.type) {
      return `f.array(${fieldCode(source, item.schema, depth + 1)}, { max: ${ITEMS_MAX} })`
    }
  }
  const count = Object.keys(objectOf(schema.properties)).length
  const hasForm = type === 'object' && isNested && count <= source.nestedLeft
  if (hasForm) source.nestedLeft -= count
  const members = hasForm ? membersOf(source, schema, depth + 1) : []
  return members.length > 0 ? `f.object({ ${members.join(', ')} })` : `f.json()${ANY_LENGTH}`
}

function boundsCode({ minimum, maximum }: JsonMap, isWhole: boolean): string {
  const isBound = (value: unknown) =>
    isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)
  const least = isBound(minimum) ? `.min(${minimum})` : ''
  return least + (isBound(maximum) ? `.max(${maximum})` : '')
}

/** Returns the code of each member: optional ones can be null, or have their default. */
function membersOf(source: Source, schema: JsonMap, depth: number, isSent = false): string[] {
  const required = new Set([schema.required].flat())
  return Object.entries(objectOf(schema.properties)).flatMap(([name, given]) => {
    if (name === '__proto__') return []
    const use = { isRequired: required.has(name), isSent, depth }
    return `${propertyName(name)}: ${codeOf(source, given, use)}`
  })
}

interface MemberUse {
  readonly isRequired: boolean
  /** Whether clients send it: an optional one has a default. */
  readonly isSent: boolean
  readonly depth?: number
}

export const memberCode = (document: JsonMap, given: unknown, use: MemberUse): string =>
  codeOf({ document, nestedLeft: NESTED_MAX }, given, use)

function codeOf(source: Source, given: unknown, use: MemberUse): string {
  const { isRequired, isSent, depth = 0 } = use
  const { schema, isNullable } = resolveSchema(source.document, given)
  const code = fieldCode(source, schema, depth)
  const value = objectOf(given).default
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
  if (isSent && !isRequired && isPlain) {
    const text = typeof value === 'string' ? quote(value) : String(value)
    return `${code}${isNullable ? '.nullable()' : ''}.default(${text})`
  }
  if (isRequired && !isNullable) return code
  return `${code}.nullable()${isSent && !isRequired ? '.default(null)' : ''}`
}

/** Returns the code of `fields({…})`; undefined for a schema that is no object with members. */
export function fieldsCode(document: JsonMap, given: unknown, isSent: boolean): string | undefined {
  const { schema } = resolveSchema(document, given)
  if (schema.type !== 'object') return undefined
  const members = membersOf({ document, nestedLeft: NESTED_MAX }, schema, 1, isSent)
  return members.length === 0 ? undefined : `fields({\n  ${members.join(',\n  ')},\n})`
}
