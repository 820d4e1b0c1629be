/**
 * The operations that agents reach (§16.11), from the OpenAPI document of a version: the API, its
 * events and webhooks. An operation that chooses a receiver of data, can return a secret, or has
 * `mcp: false` is absent, and so cannot run. Pure.
 */
import { holdsScope } from '../../identity/access/scopes.ts'
import { closestClause, endSentence } from '../../kernel/closest.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Endpoint, Operation } from '../../protocol/http/call.ts'
import {
  type DocumentReader,
  nodeOf,
  type OpenApiNode,
  type OperationView,
  readDocument,
} from '../documentation/openapi-reader.ts'

/** The paths that agents reach; deliveries and streams are for receivers. */
const PATHS = /^\/(api|events|webhooks)(\/|$)/

/** A response of this type does not end. */
const EVENT_STREAM_TYPE = 'text/event-stream'

/** Operations in a result of a search. */
const RESULTS_MAX = 20

export interface AgentOperation extends OperationView {
  /** The template of its route: `/api/orders/:id`. */
  readonly route: string
  /** Whether each request needs an `Idempotency-Key`. */
  readonly needsKey: boolean
  readonly hasDryRun: boolean
}

export interface AgentDirectory {
  /** Returns an operation. Throws `not_found`. */
  get(id: string): AgentOperation
  /** Returns what an agent needs to send a request. Throws `not_found`. */
  describe(id: string): OpenApiNode
  /** Returns the operations that match most words of a text, and the number of others. */
  search(text: string, caller: Principal): OpenApiNode
}

const isReachable = (path: string, { mcp, declaration, produces }: Operation): boolean =>
  PATHS.test(path) &&
  (declaration?.mcp ?? mcp) !== false &&
  !declaration?.isSecret &&
  !produces?.includes(EVENT_STREAM_TYPE)

export function createDirectory(
  version: string,
  document: OpenApiNode,
  endpoints: readonly Endpoint[],
): AgentDirectory {
  const reachable = new Set(
    endpoints.flatMap(({ path, methods }) =>
      Object.entries(methods)
        .filter(([, operation]) => isReachable(path, operation))
        .map(([method]) => `${method} ${path}`),
    ),
  )
  const reader = readDocument(document)
  const operations = new Map<string, AgentOperation>()
  for (const view of reader.operations) {
    const route = view.path.replace(`/api/${version}/`, '/api/').replace(/\{(\w+)\}/g, ':$1')
    // The tools have arguments in place of headers.
    const { header = [], other: parameters = [] } = Object.groupBy(view.parameters, ({ place }) =>
      place === 'header' ? 'header' : 'other',
    )
    const needsKey = header.some(({ name, isRequired }) => name === 'Idempotency-Key' && isRequired)
    const hasDryRun = header.some(({ name }) => name === 'Prefer')
    if (!reachable.has(`${view.method} ${route}`)) continue
    operations.set(view.id, { ...view, parameters, route, needsKey, hasDryRun })
  }
  const get = (id: string) => {
    const operation = operations.get(id)
    if (operation) return operation
    const hint = closestClause(id, [...operations.keys()])
    const sentence = endSentence(`There is no operation ${id}${hint}`)
    throw new Failure('not_found', `${sentence} Find one by search_operations.`)
  }
  return {
    get,
    describe: (id) => describeOperation(get(id), document, reader),
    search: (text, caller) =>
      searchOperations(
        [...operations.values()].filter(({ scope }) => mayRequest(caller, scope)),
        text,
        caller,
      ),
  }
}

const mayUse = (caller: Principal, scope: string | undefined): boolean =>
  scope === undefined || holdsScope(caller, scope)

/** Whether a caller has a scope, or could have: consent to a client cannot exceed its scopes. */
const mayRequest = (caller: Principal, scope: string | undefined): boolean =>
  mayUse(caller, scope) || (caller.clientScopes?.includes(scope!) ?? true)

function searchOperations(
  operations: readonly AgentOperation[],
  text: string,
  caller: Principal,
): OpenApiNode {
  const words = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const scoreOf = ({ id, path, summary }: AgentOperation): number => {
    const [name, rest] = [id.toLowerCase(), `${path} ${summary}`.toLowerCase()]
    return words.reduce((sum, word) => {
      return sum + (name.includes(word) ? 2 : 0) + (rest.includes(word) ? 1 : 0)
    }, 0)
  }
  const matches = operations
    .map((operation) => ({ operation, score: scoreOf(operation) }))
    .filter(({ score }) => score > 0 || words.length === 0)
    .sort((left, right) => right.score - left.score)
  const listed = matches.slice(0, RESULTS_MAX).map(({ operation }) => ({
    ...summaryOf(operation),
    ...(!mayUse(caller, operation.scope) && { granted: false }),
  }))
  return { operations: listed, more: matches.length - listed.length }
}

const summaryOf = ({ id, method, path, summary, scope }: AgentOperation) => ({
  operation: id,
  method,
  path,
  summary,
  ...(scope !== undefined && { scope }),
})

function describeOperation(
  operation: AgentOperation,
  document: OpenApiNode,
  reader: DocumentReader,
): OpenApiNode {
  const { description, method, parameters, body, status, answer, needsKey, hasDryRun } = operation
  return {
    ...summaryOf(operation),
    ...(description !== '' && { description }),
    tool: method === 'GET' ? 'read_operation' : 'call_operation',
    ...(needsKey && { idempotency_key: 'required' }),
    ...(method !== 'GET' && !hasDryRun && { dry_run: 'not possible' }),
    parameters: parameters.map(({ name, place, isRequired, operators, ...rest }) => ({
      name,
      in: place,
      ...(isRequired && { required: true }),
      description: rest.description,
      schema: bundle(rest.schema, document),
      ...(operators.length > 0 && { operators }),
    })),
    ...(body && {
      body: {
        required: body.isRequired,
        schema: bundle(body.schema, document),
        example: body.example,
      },
    }),
    response: { status, example: answer ?? reader.exampleOf({ type: 'null' }) },
  }
}

const COMPONENT = '#/components/schemas/'

/** Returns a schema with the components to which it refers, and without extensions. */
function bundle(schema: OpenApiNode, document: OpenApiNode): OpenApiNode {
  const components = nodeOf(nodeOf(document.components).schemas)
  const definitions: Record<string, unknown> = {}
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    const { $ref } = value as { $ref?: unknown }
    if (typeof $ref === 'string' && $ref.startsWith(COMPONENT)) {
      const name = $ref.slice(COMPONENT.length)
      if (!Object.hasOwn(definitions, name)) {
        definitions[name] = true // a component may refer to itself
        definitions[name] = copy(components[name])
      }
      return { $ref: `#/$defs/${name}` }
    }
    const members = Object.entries(value).filter(([name]) => !name.startsWith('x-'))
    return Object.fromEntries(members.map(([name, member]) => [name, copy(member)]))
  }
  const own = copy(schema) as OpenApiNode
  return Object.keys(definitions).length > 0 ? { ...own, $defs: definitions } : own
}
