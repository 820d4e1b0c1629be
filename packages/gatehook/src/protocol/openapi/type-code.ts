/**
 * Writes schemas as TypeScript. A value of an open set is a text: later releases have further
 * values (§8.11). Pure.
 */

interface TypedSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly TypedSchema[]
  readonly items?: TypedSchema
  readonly properties?: Readonly<Record<string, TypedSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | TypedSchema
  readonly 'x-open-set'?: boolean
}

/** Returns the type of a schema as code, whose lines after the first begin with `indent`. */
export type WriteType = (schema: object, indent?: string) => string

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}
/** A longer union has a line for each member. Its indent and its name come before it. */
const UNION_MAX = 84

const EMPTY_TYPE = 'Record<never, never>'

/** Returns a literal of a text, a number, a boolean or null. */
export const literalType = (value: unknown): string =>
  typeof value === 'string'
    ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
    : JSON.stringify(value)

export function unionType(types: readonly string[], indent = ''): string {
  const [...distinct] = new Set(types)
  if (distinct.length === 0) return 'never'
  const line = distinct.join(' | ')
  if (distinct.length === 1 || indent.length + line.length <= UNION_MAX) return line
  return distinct.map((type) => `\n${indent}  | ${type}`).join('')
}

/** Returns an object type with a member on each line: its name, and `?` for an optional one. */
export function objectType(
  members: Readonly<Record<string, string>>,
  indent = '',
  isOptional: (name: string) => boolean = () => false,
): string {
  const lines = Object.entries(members).map(([name, type]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : literalType(name)
    const space = type.startsWith('\n') ? '' : ' '
    return `${indent}  readonly ${key}${isOptional(name) ? '?' : ''}:${space}${type}\n`
  })
  return lines.length === 0 ? EMPTY_TYPE : `{\n${lines.join('')}${indent}}`
}

/** @param writeReference returns the type of a named schema */
export function createTypeWriter(
  writeReference: (name: string, write: WriteType, indent: string) => string,
): WriteType {
  const writeObject = (schema: TypedSchema, indent: string): string => {
    const { properties, required = [], additionalProperties } = schema
    if (!properties) {
      const values = typeof additionalProperties === 'object' ? additionalProperties : {}
      return `Readonly<Record<string, ${write(values, indent)}>>`
    }
    const members = Object.entries(properties).map(([name, member]) => [
      name,
      write(member, `${indent}  `),
    ])
    return objectType(Object.fromEntries(members), indent, (name) => !required.includes(name))
  }
  const writeSimple = (type: string, schema: TypedSchema, indent: string): string => {
    if (type === 'object') return writeObject(schema, indent)
    if (type !== 'array') return SCALARS[type] ?? 'unknown'
    const { items = {} } = schema
    const isUnion = items.enum ?? items.oneOf ?? (Array.isArray(items.type) || undefined)
    const text = write(items, indent)
    return `readonly ${isUnion ? `(${text})` : text}[]`
  }
  const write: WriteType = (schema, indent = '') => {
    const { $ref, enum: values, oneOf, type, ...rest } = schema as TypedSchema
    if ($ref !== undefined) return writeReference($ref.split('/').at(-1)!, write, indent)
    if (values && !rest['x-open-set']) return unionType(values.map(literalType), indent)
    if (oneOf) return unionType(oneOf.map((inner) => write(inner, indent)))
    if (type === undefined) return 'unknown'
    return unionType([type].flat().map((name) => writeSimple(name, schema, indent)))
  }
  return write
}
