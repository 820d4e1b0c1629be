/**
 * Reading an OpenAPI 3.1 document: local references, and one form for what JSON Schema can say in
 * several. Pure.
 */
export type Node = Readonly<Record<string, unknown>>

export interface Operation {
  /** `GET /users/{id}`. */
  readonly name: string
  readonly where: string
  readonly document: Node
  readonly node: Node
  /** Those of the path too, references followed. */
  readonly parameters: readonly Node[]
  /** Names in the path, in order. */
  readonly inPath: readonly string[]
}

export const nodeOf = (value: unknown): Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : {}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const isEqual = (one: unknown, other: unknown): boolean => stable(one) === stable(other)

/** JSON text with members in one order. */
export const stable = (value: unknown): string =>
  JSON.stringify(value, (_name, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  ) ?? 'undefined'

/** A chain of references longer than this is a circle that holds no schema. */
const CHAIN_MAX = 32

/**
 * What a local `$ref` leads to; members beside it (3.1) win. Throws for references that lead
 * nowhere or out of the document.
 */
export function resolved(document: Node, value: unknown): Node {
  let node = nodeOf(value)
  for (let steps = 0; typeof node.$ref === 'string'; steps++) {
    const { $ref, ...beside } = node
    if (steps > CHAIN_MAX) throw new Error(`${$ref} leads in a circle`)
    node = { ...target(document, String($ref)), ...beside }
  }
  return node
}

function target(document: Node, ref: string): Node {
  if (!ref.startsWith('#/')) throw new Error(`${ref} leads out of the document`)
  let at: unknown = document
  for (const part of ref.slice(2).split('/')) {
    at = nodeOf(at)[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  if (at === undefined) throw new Error(`${ref} leads nowhere`)
  return nodeOf(at)
}

/** The component a value stands for: `User`. */
export const componentOf = (value: unknown): string | undefined => {
  const { $ref } = nodeOf(value)
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}

/** `false` allows nothing. */
const NOTHING: Node = { enum: [] }

/**
 * A schema with its references followed, `allOf` merged, `const` as `enum`, and null as a type,
 * however it was written.
 */
export function normalSchema(document: Node, value: unknown): Node {
  if (value === false) return NOTHING
  let schema = resolved(document, value)
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema
    const parts = listOf(allOf).map((part) => normalSchema(document, part))
    schema = parts.reduce(merged, rest)
  }
  if (Object.hasOwn(schema, 'const')) {
    const { const: only, ...rest } = schema
    schema = { ...rest, enum: [only] }
  }
  if (schema.nullable === true) schema = { ...schema, type: withNull(schema.type) }
  return nullAsType(document, schema)
}

const withNull = (type: unknown): unknown =>
  type === undefined ? undefined : [...new Set([type, 'null'].flat())]

/** `anyOf: [X, {type: "null"}]` is X that may be null. */
function nullAsType(document: Node, schema: Node): Node {
  for (const word of ['anyOf', 'oneOf']) {
    const forms = listOf(schema[word])
    const others = forms.filter((form) => nodeOf(form).type !== 'null')
    if (others.length !== 1 || forms.length !== 2) continue
    const { [word]: _forms, ...rest } = schema
    const one = normalSchema(document, others[0])
    const values = one.enum === undefined ? {} : { enum: [...listOf(one.enum), null] }
    return { ...rest, ...one, ...values, type: withNull(one.type) }
  }
  return schema
}

const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']

/** Both hold: members and requirements of both, the tighter of two bounds. */
function merged(one: Node, other: Node): Node {
  const both: Record<string, unknown> = { ...one, ...other }
  const of = (name: string) => [one[name], other[name]].filter((value) => value !== undefined)
  if (of('properties').length > 0) {
    both.properties = { ...nodeOf(one.properties), ...nodeOf(other.properties) }
  }
  if (of('required').length > 0) {
    both.required = [...new Set([...listOf(one.required), ...listOf(other.required)])]
  }
  for (const name of upper) if (of(name).length > 0) both[name] = Math.min(...numbers(of(name)))
  for (const name of lower) if (of(name).length > 0) both[name] = Math.max(...numbers(of(name)))
  if (of('enum').length === 2) {
    both.enum = listOf(one.enum).filter((value) => listOf(other.enum).includes(value))
  }
  return both
}

const numbers = (values: readonly unknown[]): number[] => values.map(Number)
