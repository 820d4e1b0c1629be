/** Visits every schema of an OpenAPI document, and may change it in place. */
import type { JsonSchema } from '../fields/json-schema.ts'

/** Where values of a schema occur, which bounds them. */
export type SchemaPlace = 'parameter' | 'body' | 'response'

export interface VisitedSchema {
  readonly schema: JsonSchema
  /** The name of the member or parameter; '' for others. */
  readonly name: string
  /** The named schema that contains it; '' for an inline schema. */
  readonly owner: string
  readonly place: SchemaPlace
}

export type VisitSchema = (visited: VisitedSchema) => void

export const objectOf = (value: unknown): JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : {}
const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns the name of a named schema; undefined for an inline one. */
export const schemaNameOf = (schema: unknown): string | undefined => {
  const { $ref } = objectOf(schema)
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export interface VisitedOperation {
  readonly method: string
  readonly path: string
  readonly operation: JsonSchema
  /** The parameters of the path. */
  readonly shared: readonly unknown[]
}

export const operationsIn = (paths: unknown): VisitedOperation[] =>
  Object.entries(objectOf(paths)).flatMap(([path, item]) =>
    METHODS.filter((method) => objectOf(item)[method] !== undefined).map((method) => ({
      method,
      path,
      operation: objectOf(objectOf(item)[method]),
      shared: arrayOf(objectOf(item).parameters),
    })),
  )

/** Visits each schema once; a named schema of a request counts as one of a body. */
export function walkSchemas(document: JsonSchema, visit: VisitSchema): void {
  const named = objectOf(objectOf(document.components).schemas)
  const pending: [name: string, place: SchemaPlace][] = []
  const visited = new Set<string>()

  const walk = (value: unknown, name: string, owner: string, place: SchemaPlace): void => {
    const schema = objectOf(value)
    const reference = schemaNameOf(schema)
    if (reference !== undefined) {
      pending.push([reference, place])
      return
    }
    visit({ schema, name, owner, place })
    for (const [member, inner] of Object.entries(objectOf(schema.properties))) {
      walk(inner, member, owner, place)
    }
    if (schema.items !== undefined) walk(schema.items, name, owner, place)
    if (typeof schema.additionalProperties === 'object') {
      walk(schema.additionalProperties, name, owner, place)
    }
    for (const form of arrayOf(schema.oneOf)) walk(form, name, owner, place)
  }
  const walkContent = (content: unknown, place: SchemaPlace) => {
    for (const media of Object.values(objectOf(content))) {
      const { schema } = objectOf(media)
      if (schema !== undefined) walk(schema, '', '', place)
    }
  }
  const walkParameter = (value: unknown) => {
    const parameter = objectOf(value)
    if (parameter.schema) walk(parameter.schema, String(parameter.name), '', 'parameter')
  }
  const drain = () => {
    for (let next = pending.shift(); next; next = pending.shift()) {
      const [name, place] = next
      if (visited.has(name) || named[name] === undefined) continue
      visited.add(name)
      walk(named[name], '', name, place)
    }
  }

  const operations = operationsIn(document.paths)
  for (const { operation, shared } of operations) {
    for (const parameter of [...shared, ...arrayOf(operation.parameters)]) walkParameter(parameter)
    walkContent(objectOf(operation.requestBody).content, 'body')
  }
  const components = objectOf(document.components)
  for (const parameter of Object.values(objectOf(components.parameters))) walkParameter(parameter)
  drain()
  const responses = operations.flatMap(({ operation }) =>
    Object.values(objectOf(operation.responses)),
  )
  for (const response of [...responses, ...Object.values(objectOf(components.responses))]) {
    walkContent(objectOf(response).content, 'response')
  }
  for (const header of Object.values(objectOf(components.headers))) {
    walk(objectOf(header).schema, '', '', 'response')
  }
  for (const { operation } of operationsIn(document.webhooks)) {
    for (const parameter of arrayOf(operation.parameters)) walkParameter(parameter)
    walkContent(objectOf(operation.requestBody).content, 'response')
  }
  for (const name of Object.keys(named)) pending.push([name, 'response'])
  drain()
}
