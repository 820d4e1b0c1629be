/** Reads an OpenAPI 3.1 document for the docs: references, types and examples of schemas. Pure. */

import { type FailureCode, failures } from '../../kernel/failure.ts'
import { type JsonSchema, TEXT_KIND } from '../../protocol/fields/json-schema.ts'
import type { FieldKind } from '../../protocol/fields/kind.ts'
import { fieldKinds } from '../../protocol/fields/kinds/table.ts'
import { SCOPED_DEFAULT } from '../../protocol/fields/schema.ts'
import { isJsonType } from '../../protocol/http/content-negotiation.ts'
import { defaultLimits } from '../../protocol/http/exchange.ts'
import { FIELDS } from '../../protocol/openapi/list-extensions.ts'
import { OWN_FAILURES } from '../../protocol/openapi/problem-responses.ts'
import { exampleReader } from '../../protocol/openapi/schema-example.ts'

export type OpenApiNode = Readonly<Record<string, unknown>>

export const nodeOf = (value: unknown): OpenApiNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as OpenApiNode) : {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export interface OperationView {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters are `{id}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  readonly scope: string | undefined
  /** The first credential of the document that it accepts. */
  readonly credential: 'key' | 'token' | 'none'
  readonly parameters: readonly ParameterView[]
  readonly body: BodyView | undefined
  /** The failures of the engine, then those of the service. */
  readonly errors: readonly FailureView[]
  /** The successful response. */
  readonly status: number
  readonly answer: unknown
}

interface FailureView {
  readonly code: string
  readonly status: number
  readonly message: string
}

export interface ParameterView {
  readonly name: string
  readonly place: 'path' | 'query' | 'header'
  readonly isRequired: boolean
  readonly description: string
  readonly schema: OpenApiNode
  readonly example: unknown
  /** The parameters of the same column with an operator: `amount[gte]`. */
  readonly operators: readonly string[]
}

interface BodyView {
  readonly isRequired: boolean
  readonly mediaType: string
  readonly schema: OpenApiNode
  readonly example: unknown
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

export interface DocumentReader {
  readonly operations: readonly OperationView[]
  /** Returns the node or the component to which it refers. */
  resolve(value: unknown): OpenApiNode
  exampleOf(schema: unknown): unknown
}

export function readDocument(document: OpenApiNode): DocumentReader {
  const resolve = (value: unknown): OpenApiNode => {
    const node = nodeOf(value)
    if (typeof node.$ref !== 'string') return node
    const steps = node.$ref.split('/').slice(1)
    return resolve(steps.reduce<unknown>((at, name) => nodeOf(at)[name], document))
  }
  const exampleOf = exampleReader(document as JsonSchema)
  const securityOf = (operation: OpenApiNode) => listOf(operation.security ?? document.security)
  const ownFailures = nodeOf(document[OWN_FAILURES])
  const source = { resolve, exampleOf, securityOf, ownFailures }
  const operations = Object.entries(nodeOf(document.paths)).flatMap(([path, item]) =>
    METHODS.filter((method) => nodeOf(item)[method] !== undefined).map((method) => {
      const operation = nodeOf(nodeOf(item)[method])
      const shared = listOf(nodeOf(item).parameters)
      return readOperation({ ...source, path, method, operation, shared })
    }),
  )
  return { operations, resolve, exampleOf }
}

interface OperationSource {
  readonly resolve: DocumentReader['resolve']
  readonly exampleOf: DocumentReader['exampleOf']
  readonly securityOf: (operation: OpenApiNode) => readonly unknown[]
  readonly path: string
  readonly method: (typeof METHODS)[number]
  readonly operation: OpenApiNode
  /** The failures that the service declares, by code. */
  readonly ownFailures: OpenApiNode
  /** The parameters of the path. */
  readonly shared: readonly unknown[]
}

function readOperation(source: OperationSource): OperationView {
  const { resolve, exampleOf, path, method, operation } = source
  const parameters = [...source.shared, ...listOf(operation.parameters)].map((value) => {
    const node = resolve(value)
    const schema = resolve(node.schema)
    return {
      name: String(node.name),
      place: node.in as ParameterView['place'],
      isRequired: node.required === true,
      description: String(node.description ?? ''),
      schema,
      example: node.example ?? exampleOf(schema),
      operators: [],
    }
  })
  const success = Object.entries(nodeOf(operation.responses)).find(([key]) => /^2/.test(key))
  const contents = Object.entries(nodeOf(success && resolve(success[1]).content))
  const content = contents.find(([type]) => isJsonType(type))?.[1]
  const scope = operation['x-scope']
  return {
    id: String(operation.operationId),
    method: method.toUpperCase() as OperationView['method'],
    path,
    tag: String(listOf(operation.tags)[0] ?? ''),
    summary: String(operation.summary ?? ''),
    description: String(operation.description ?? ''),
    scope: typeof scope === 'string' ? scope : undefined,
    credential: credentialOf(source.securityOf(operation)),
    parameters: [...withOperators(parameters), ...fieldsParameter(operation)],
    body: readBody(source),
    errors: (listOf(operation['x-errors']) as readonly string[]).map((code) => {
      const own = nodeOf(source.ownFailures[code])
      const words = [Number(own.status), String(own.description)] as const
      const [status, message] = failures[code as FailureCode] ?? words
      return { code, status, message }
    }),
    status: Number(success?.[0] ?? 200),
    answer: content && (nodeOf(content).example ?? exampleOf(nodeOf(content).schema)),
  }
}

/** Joins the parameters of a column: `amount` with `amount[gte]`, … */
function withOperators(parameters: readonly ParameterView[]): ParameterView[] {
  const names = new Set(parameters.map(({ name }) => name))
  const columnOf = ({ name }: ParameterView): string | undefined => {
    const [, column = ''] = /^(\w+)\[\w+\]$/.exec(name) ?? []
    return names.has(column) ? column : undefined
  }
  const byColumn = Map.groupBy(parameters, columnOf)
  return (byColumn.get(undefined) ?? []).map((parameter) => ({
    ...parameter,
    operators: (byColumn.get(parameter.name) ?? []).map(({ name }) => name),
  }))
}

/** The selection of members, which is no parameter for typed clients (decision 0065). */
function fieldsParameter(operation: OpenApiNode): ParameterView[] {
  const names = listOf(operation[FIELDS])
  if (names.length === 0) return []
  const schema = { type: 'array', items: { type: 'string', enum: names } }
  const description = 'The members to return, separated by commas.'
  const about = { place: 'query', isRequired: false, description, operators: [] } as const
  return [{ name: 'fields', ...about, schema, example: names }]
}

function credentialOf(security: readonly unknown[]): OperationView['credential'] {
  const schemes = security.map((scheme) => Object.keys(nodeOf(scheme)))
  if (schemes.length === 0 || schemes.some((names) => names.length === 0)) return 'none'
  return schemes.some((names) => names.includes('ApiKey')) ? 'key' : 'token'
}

function readBody({ resolve, exampleOf, operation }: OperationSource): BodyView | undefined {
  if (operation.requestBody === undefined) return undefined
  const body = resolve(operation.requestBody)
  const [first] = Object.entries(nodeOf(body.content))
  if (!first) return undefined
  const [mediaType, value] = first
  const { schema, example } = nodeOf(value)
  return {
    isRequired: body.required === true,
    mediaType,
    schema: resolve(schema),
    example: example ?? exampleOf(schema),
  }
}

/** Describes a schema's values in a few words: `integer, at least 1`; no bound of the transport. */
export function typeWords(schema: OpenApiNode): string {
  const types = [schema.type].flat().filter((type) => type !== undefined && type !== 'null')
  const { minimum, maximum, minLength, maxLength, default: value = schema[SCOPED_DEFAULT] } = schema
  const isBounded = (bound: unknown) => Math.abs(Number(bound)) < Number.MAX_SAFE_INTEGER
  const isOwnLength = typeof maxLength === 'number' && maxLength < defaultLimits.urlBytes
  const name = schema.enum
    ? 'text'
    : types.map((type) => TYPE_NAMES[String(type)] ?? type).join(' or ')
  const words = [
    FORMAT_NAMES[String(schema[TEXT_KIND] ?? schema.format)] ?? name,
    minimum !== undefined && isBounded(minimum) && `at least ${minimum}`,
    maximum !== undefined && isBounded(maximum) && `at most ${maximum}`,
    minLength !== undefined && minLength !== 0 && `at least ${minLength} characters`,
    isOwnLength && `at most ${maxLength} characters`,
    schema['x-minimum'] !== undefined && `at least ${schema['x-minimum']}`,
    schema['x-maximum'] !== undefined && `at most ${schema['x-maximum']}`,
    schema.pattern !== undefined && `matches \`${schema.pattern}\``,
    [schema.type].flat().includes('null') && 'or null',
    value !== undefined && `default \`${JSON.stringify(value)}\``,
  ]
  return words.filter((word) => typeof word === 'string' && word !== '').join(', ')
}

/** The words of the kinds for the `format` or `x-text` of their schemas. */
const FORMAT_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values<FieldKind>(fieldKinds).flatMap(({ format }) => (format ? [format] : [])),
)

const TYPE_NAMES: Readonly<Record<string, string>> = { string: 'text', bool: 'boolean' }

/** Most values of an enumeration that a page lists. */
const VALUES_MAX = 12

/** Returns the values of an enumeration as a sentence; '' for none, or too many. */
export function valueWords(schema: OpenApiNode): string {
  const values = listOf(schema.enum ?? nodeOf(schema.items).enum).filter((value) => value !== null)
  if (values.length === 0) return ''
  const quoted = values.slice(0, VALUES_MAX).map((value) => `\`${String(value)}\``)
  const rest = values.length - quoted.length
  return rest > 0 ? `${quoted.slice(0, 4).join(', ')}, …` : quoted.join(', ')
}
