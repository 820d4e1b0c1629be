/** Returns examples of schemas: their own, or values that follow from type and bounds. Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'
import { objectOf, schemaNameOf } from './schema-walk.ts'

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const DEPTH_MAX = 8

/** Returns a function for the schemas of a document, whose references it resolves. */
export function exampleReader(document: JsonSchema): (schema: unknown) => unknown {
  const named = objectOf(objectOf(document.components).schemas)
  const resolve = (value: unknown): JsonSchema => {
    const schema = objectOf(value)
    const name = schemaNameOf(schema)
    return name === undefined ? schema : objectOf(named[name])
  }
  const exampleOf = (value: unknown, depth: number): unknown => {
    const schema = resolve(value)
    const own = ownExample(schema)
    if (own !== undefined) return own
    if (depth > DEPTH_MAX) return null
    const [form] = listOf(schema.oneOf ?? schema.anyOf)
    if (form !== undefined) return exampleOf(form, depth + 1)
    const types = [schema.type].flat()
    if (types.includes('array')) return [exampleOf(schema.items, depth + 1)]
    if (types.includes('object')) {
      const members = Object.entries(objectOf(schema.properties))
      return Object.fromEntries(members.map(([name, node]) => [name, exampleOf(node, depth + 1)]))
    }
    return scalarExample(String(types[0]), schema)
  }
  return (schema) => exampleOf(schema, 0)
}

/** Returns the example that a schema states; undefined without one. */
export const ownExample = (schema: JsonSchema): unknown =>
  schema.example ??
  listOf(schema.examples)[0] ??
  schema.const ??
  schema.default ??
  listOf(schema.enum)[0]

function scalarExample(type: string, { minimum, maximum, minLength, format }: JsonSchema): unknown {
  if (type === 'integer' || type === 'number') {
    return Math.min(Math.max(1, Number(minimum ?? 1)), Number(maximum ?? 1))
  }
  if (type === 'boolean') return true
  if (type !== 'string') return null
  const formats: Readonly<Record<string, string>> = {
    'date-time': '2026-06-01T09:30:00.000Z',
    date: '2026-06-01',
    email: 'ada@example.com',
    uri: 'https://example.com/',
  }
  return formats[String(format)] ?? 'text'.padEnd(Number(minLength ?? 0), '.')
}
