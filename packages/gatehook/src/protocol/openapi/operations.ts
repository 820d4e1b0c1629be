/** Describes operations of the engine as OpenAPI paths and schemas. Pure. */

import { type FailureCode, failures } from '../../kernel/failure.ts'
import type { JsonSchema } from '../fields/json-schema.ts'
import type { SchemaContext } from '../fields/kind.ts'
import { parameterSchema, valueSchema } from '../fields/schema.ts'
import type { MemberSpec } from '../fields/spec.ts'
import { type OperationData, readsJson, statusOf } from '../http/operation-data.ts'
import { addEngineWords, type DescribedOperations } from './engine-words.ts'
import {
  answer,
  content,
  type ErrorStatus,
  failing,
  listErrors,
  listParameters,
  listSchema,
  ref,
} from './parts.ts'

/** The parts of an operation's description that do not follow from its declaration. */
export interface OperationPolicy {
  /** Undefined: the default schemes of the document. */
  readonly security?: readonly JsonSchema[]
  readonly scope?: string | undefined
}

interface DescriptionOptions {
  readonly policyOf: (operation: OperationData) => OperationPolicy
  /** Returns the path in the document: `/webhooks/{id}`. Default: the operation's. */
  readonly pathOf?: (operation: OperationData) => string
  /** The versions of the service, oldest first, for examples. */
  readonly versions: readonly string[]
}

/** Describes operations; those of one path share its entry. */
export function describeOperations(
  operations: readonly OperationData[],
  { policyOf, pathOf = ({ path }) => templateOf(path), versions }: DescriptionOptions,
): DescribedOperations {
  const schemas: Record<string, JsonSchema> = {}
  const contextOf = (isClosed: boolean): SchemaContext => ({
    isClosed,
    reference(name, schema) {
      schemas[name] ??= schema()
      return ref('schemas', name)
    },
    page: listSchema,
  })
  const contexts = { input: contextOf(true), output: contextOf(false) }
  const paths: Record<string, JsonSchema> = {}
  for (const operation of operations) {
    if (operation.isPossible === false) continue
    const path = pathOf(operation)
    const description = describe(operation, policyOf(operation), contexts)
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: description }
  }
  return addEngineWords({ paths, schemas }, versions)
}

/** Returns `/webhooks/{id}` for `/webhooks/:id`. */
export const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

/** `keys` for `/admin/keys/:id`, `webhooks` for `/webhooks`. */
const tagOf = ({ tag, path }: OperationData): string =>
  tag ?? /^\/(?:admin\/)?([\w-]*)/.exec(path)![1]!

interface Contexts {
  readonly input: SchemaContext
  readonly output: SchemaContext
}

function describe(
  operation: OperationData,
  { security, scope }: OperationPolicy,
  contexts: Contexts,
): JsonSchema {
  const { id, summary, description } = operation
  const parameters = parametersOf(operation, contexts.input)
  const errors = errorsOf(operation)
  const statuses = errors.map((code) => failures[code][0])
  return {
    ...(security && { security }),
    tags: [tagOf(operation)],
    ...(scope !== undefined && { 'x-scope': scope }),
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    'x-errors': errors,
    ...(parameters.length > 0 && { parameters }),
    ...bodyOf(operation, contexts.input),
    responses: {
      ...successOf(operation, contexts.output),
      ...failuresOf(operation, contexts.output, statuses),
    },
  }
}

/** Returns references to the error responses, or responses with the operation's own errors. */
function failuresOf(
  operation: OperationData,
  context: SchemaContext,
  statuses: readonly ErrorStatus[],
): JsonSchema {
  const { errors = [], failure, failurePage, input, produces } = operation
  if (!failure) {
    const page = produces !== undefined && { [produces]: { schema: { type: 'string' } } }
    return {
      ...failing(...statuses, ...(input || readsJson(operation) ? ([413, 415] as const) : [])),
      ...(failurePage !== undefined && { 400: { description: failurePage, content: page } }),
    }
  }
  const schema = valueSchema(failure.spec, context)
  const response = (description: string) => ({
    description,
    content: content(schema, failure.spec.example),
  })
  const declared = errors.map((code) => failures[code])
  return {
    ...Object.fromEntries(declared.map(([status, sentence]) => [status, response(sentence)])),
    400: response('The request is invalid.'),
    401: response('The client is not authenticated.'),
    429: response('Too many requests; see `Retry-After`.'),
    default: response('Any other failure.'),
  }
}

const isPage = ({ output }: OperationData): boolean => output?.spec.kind === 'page'

/** Returns the codes that follow from path, body and headers, then the declared ones. */
function errorsOf(operation: OperationData): FailureCode[] {
  const { path, bodyCode = 'validation_failed', headers = [], query } = operation
  // Failures of another form have codes of their own for the body.
  const hasBodyCodes = !(operation.failure && operation.validates === false)
  const codes: FailureCode[] = [
    ...(path.includes(':') ? (['not_found'] as const) : []),
    ...(isPage(operation) ? listErrors : []),
    ...(query ? (['invalid_parameter', 'unknown_parameter'] as const) : []),
    ...(readsJson(operation) && hasBodyCodes ? (['invalid_json', bodyCode] as const) : []),
    ...(headers.includes('Idempotency-Key') ? idempotencyErrors : []),
    ...(headers.includes('If-Match') ? (['precondition_failed'] as const) : []),
    ...(operation.errors ?? []),
  ]
  return [...new Set(codes)]
}

const idempotencyErrors: readonly FailureCode[] = [
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
]

function parametersOf(operation: OperationData, context: SchemaContext): JsonSchema[] {
  const { path, params = {}, query = {}, headers = [] } = operation
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: params[name!] ? valueSchema(params[name!]!.spec, context) : { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, { spec }]) => {
    const { description, ...schema } = parameterSchema(spec, context)
    const words = description === undefined ? {} : { description }
    return { name, in: 'query', required: spec.write === 'required', ...words, schema }
  })
  const inHeaders = headers.map((name) => ref('parameters', name.replaceAll('-', '')))
  return [
    ...inPath,
    ...(isPage(operation) ? pageParameters(operation) : []),
    ...inQuery,
    ...inHeaders,
  ]
}

const itemOf = ({ output }: OperationData): MemberSpec | undefined => output?.spec.items

/** The keyset style needs integer ids (§7.1). */
function pageParameters(operation: OperationData): JsonSchema[] {
  const id = itemOf(operation)?.members?.id
  const hasIntegerId = id?.kind === 'int' || id?.kind === 'id'
  return Object.keys(listParameters)
    .filter((name) => name !== 'AfterId' || hasIntegerId)
    .map((name) => ref('parameters', name))
}

function bodyOf(operation: OperationData, context: SchemaContext): JsonSchema {
  const { id, method, input, inputExample: example, body, accepts = 'application/json' } = operation
  if (!input) return {}
  const schema = context.reference(bodyName(id), () => valueSchema(inputSpec(operation), context))
  const media = { schema, ...(example && { example }) }
  const isPatch = method === 'PATCH' && operation.accepts === undefined
  const content = {
    [accepts]: media,
    ...(isPatch && { 'application/merge-patch+json': media }),
  }
  return { requestBody: { required: body !== 'optional', content } }
}

/** Returns `CreateWebhookBody` for `create_webhook`. */
const bodyName = (id: string): string =>
  `${id.replace(/(?:^|_)(\w)/g, (_all, letter: string) => letter.toUpperCase())}Body`

/** Returns the spec of the body as an object. */
const inputSpec = ({
  input = {},
  isOpen = false,
}: Pick<OperationData, 'input' | 'isOpen'>): MemberSpec => ({
  kind: 'object',
  write: 'required',
  nullable: false,
  isOpen,
  members: Object.fromEntries(Object.entries(input).map(([name, { spec }]) => [name, spec])),
})

function successOf(operation: OperationData, context: SchemaContext): JsonSchema {
  const { output, produces, returns, location, otherStatus, text } = operation
  const status = statusOf(operation)
  const headers = {
    ...(location !== undefined && { Location: ref('headers', 'Location') }),
    ...(isPage(operation) && { Link: ref('headers', 'Link') }),
  }
  const schema = output && valueSchema(output.spec, context)
  const media = schema
    ? content(schema)
    : produces && {
        [produces]: { schema: { type: 'string' }, ...(text !== undefined && { example: text }) },
      }
  return {
    [status]: {
      description: returns ?? (isPage(operation) ? 'A page.' : 'Done.'),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(media && { content: media }),
    },
    ...(otherStatus &&
      answer(otherStatus.status, otherStatus.returns, schema, otherStatus.example)),
  }
}
