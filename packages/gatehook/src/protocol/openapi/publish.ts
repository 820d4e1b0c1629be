/**
 * Completes an OpenAPI document for its readers: words and examples of every member, bounds of the
 * transport, headers of responses, OAuth 2.0, links, webhooks, problem types. `declare/gate/`
 * compares documents before this step: the additions describe, and promise nothing new.
 */
import type { JsonSchema } from '../fields/json-schema.ts'
import type { OpenApiDocument } from './document.ts'
import { addDryRuns } from './dry-runs.ts'
import { type DocumentEvent, eventWebhooks, WEBHOOKS_TAG } from './event-webhooks.ts'
import { addLinks } from './links.ts'
import { describeOperation } from './operation-words.ts'
import { readAfterParameter, ref } from './parts.ts'
import { addErrors } from './problem-responses.ts'
import {
  addHeaders,
  failureHeaders,
  headerComponents,
  type ResponseFacts,
  successHeaders,
} from './response-headers.ts'
import { addBounds } from './schema-bounds.ts'
import { exampleReader, ownExample } from './schema-example.ts'
import {
  objectOf,
  operationsIn,
  schemaNameOf,
  type VisitedOperation,
  walkSchemas,
} from './schema-walk.ts'
import { addSecurity } from './security.ts'
import { withUsedComponents } from './used-components.ts'

export interface PublishOptions {
  /** The version whose pages document failures. */
  readonly version: string
  /** Every scope with its sentence. */
  readonly scopes: Readonly<Record<string, string>>
  /** The types of events; none for a document without webhooks. */
  readonly events: readonly DocumentEvent[]
  /** More members of `info`: license, contact. */
  readonly info: JsonSchema
  /** Whether reads may use replicas. */
  readonly readsReplicas: boolean
}

export function publishDocument(
  source: OpenApiDocument,
  { version, scopes, events, info, readsReplicas }: PublishOptions,
): OpenApiDocument {
  // Not structuredClone: it keeps one object where two members share a schema.
  const document = JSON.parse(JSON.stringify(source)) as OpenApiDocument & JsonSchema
  const components = objectOf(document.components)
  document.info = { description: describeDocument(source), ...objectOf(document.info), ...info }
  document.servers = [{ url: '/', description: DATA_OF_SERVER, 'x-internal': 'false' }]
  components.parameters = { ...objectOf(components.parameters), ...publishedParameters(components) }
  components.headers = { ...objectOf(components.headers), ...headerComponents(version) }
  document.components = components
  if (events.length > 0) addWebhooks(document, events)
  addErrors(document, version)
  addDryRuns(document)
  if (readsReplicas) addReadAfter(document)
  walkSchemas(document, addBounds)
  addSecurity(document, scopes)
  const exampleOf = exampleReader(document)
  for (const visited of operationsIn(document.paths)) {
    completeOperation(visited, version, exampleOf)
  }
  addLinks(document)
  return withUsedComponents(document)
}

/** The grammar of headers, which the transport does not promise for a resource (§11.1). */
function publishedParameters({ parameters }: JsonSchema): JsonSchema {
  const own = objectOf(parameters)
  const completeSchema = (name: string, schema: JsonSchema) =>
    own[name] === undefined
      ? {}
      : {
          [name]: {
            ...objectOf(own[name]),
            schema: { ...objectOf(objectOf(own[name]).schema), ...schema },
          },
        }
  return {
    ...completeSchema('IdempotencyKey', {
      // Bare, or quoted as a structured field.
      pattern: '^(?:"[!#-~]{1,255}"|[!-~]{1,255})$',
      maxLength: 257,
      examples: ['5f1c9a4e'],
    }),
    ...completeSchema('IfMatch', { examples: ['*'] }),
    ...completeSchema('IfNoneMatch', { examples: ['"5d41402abc4b2a76"'] }),
  }
}

/**
 * Adds the requests to receivers. An event is a body of a request, in which a member is never
 * read-only, so its object is a copy of the row. The copy is inline: oapi-codegen omits components
 * that webhooks alone use.
 */
function addWebhooks(document: JsonSchema, events: readonly DocumentEvent[]): void {
  const schemas = objectOf(objectOf(document.components).schemas)
  const inEvents = events.map((event) => {
    const name = schemaNameOf(event.schema)
    if (!name) return event
    const row = structuredClone(objectOf(schemas[name]))
    for (const member of Object.values(objectOf(row.properties))) delete objectOf(member).readOnly
    return { ...event, schema: { ...row, description: `The object of an event: ${name}.` } }
  })
  document.webhooks = eventWebhooks(inEvents)
  document.tags = [...((document.tags ?? []) as JsonSchema[]), WEBHOOKS_TAG]
}

/** Adds the position that a read needs to the reads that may use replicas, and to responses. */
function addReadAfter(document: JsonSchema): void {
  const calls = operationsIn(document.paths).filter(({ path }) => path.startsWith('/api/'))
  for (const { operation } of calls) {
    for (const [status, response] of Object.entries(objectOf(operation.responses))) {
      const isOwn = objectOf(response).$ref === undefined
      if (isOwn && /^[23]/.test(status)) addHeaders(objectOf(response), ['Gatehook-Read-After'])
    }
  }
  const reads = calls.filter(({ method }) => method === 'get')
  if (reads.length === 0) return
  const components = objectOf(document.components)
  components.parameters = { ...objectOf(components.parameters), ReadAfter: readAfterParameter }
  for (const { operation } of reads) {
    const own = (operation.parameters ?? []) as readonly unknown[]
    operation.parameters = [...own, ref('parameters', 'ReadAfter')]
  }
}

/** One server has both modes; the credential selects. */
const DATA_OF_SERVER = 'Live and test data: the mode of the credential selects.'

const describeDocument = ({ info }: OpenApiDocument): string =>
  `The operations of ${String(objectOf(info).title)}.`

/** Whether the response is a page of a list. */
const isList = (operation: JsonSchema): boolean =>
  JSON.stringify(operation.parameters ?? []).includes('"#/components/parameters/Cursor"')

function completeOperation(
  { method, path, operation, shared }: VisitedOperation,
  version: string,
  exampleOf: (schema: unknown) => unknown,
): void {
  operation.description = describeOperation(operation)
  for (const parameter of [...shared, ...((operation.parameters ?? []) as unknown[])]) {
    completeParameter(objectOf(parameter), path, version)
  }
  const body = objectOf(operation.requestBody)
  if (body.content) body.description ??= 'The input.'
  for (const media of Object.values(objectOf(body.content))) addExample(objectOf(media), exampleOf)
  const isIdempotent = JSON.stringify(operation.parameters ?? []).includes('IdempotencyKey')
  for (const [status, value] of Object.entries(objectOf(operation.responses))) {
    const response = objectOf(value)
    if (response.$ref !== undefined) continue
    if (!/^[23]/.test(status)) {
      addHeaders(response, failureHeaders(status))
      continue
    }
    for (const [type, media] of Object.entries(objectOf(response.content))) {
      if (type === 'application/json') addExample(objectOf(media), exampleOf)
    }
    const facts: ResponseFacts = {
      status,
      isVersioned: path.startsWith('/api/'),
      isList: isList(operation),
      isCreated: status === '201',
      isIdempotent,
      hasEtag: method === 'get' && objectOf(response.content)['application/json'] !== undefined,
    }
    addHeaders(response, successHeaders(facts))
  }
}

function addExample(media: JsonSchema, exampleOf: (schema: unknown) => unknown): void {
  if (media.example === undefined && media.schema !== undefined) {
    media.example = exampleOf(media.schema)
  }
}

/** The ids in paths, by the collection before them. */
function completeParameter(parameter: JsonSchema, path: string, version: string): void {
  if (parameter.$ref !== undefined) return
  const { name } = parameter
  const collection = new RegExp(`([\\w-]+)/\\{${String(name)}\\}`).exec(path)?.[1] ?? ''
  const schema = objectOf(parameter.schema)
  if (parameter.in === 'path') {
    parameter.description ??= `The \`${String(name)}\` of one of \`${collection}\`.`
    const example = collection === 'versions' ? version : ID_EXAMPLES[collection]
    if (ownExample(schema) === undefined) {
      schema.examples = [schema.type === 'integer' ? 1 : (example ?? 'id_1Ab2Cd')]
    }
  }
  parameter.description ??= `The parameter \`${String(name)}\`.`
}

const ID_EXAMPLES: Readonly<Record<string, string>> = {
  webhooks: 'wh_5Q8mZ2',
  deliveries: 'dlv_7Hq2Xc',
  events: 'evt_01JWM4Q2',
  customers: 'cus_4Rt9Bn',
  keys: 'key_9Zk3Wd',
  clients: 'cli_6Vb1Np',
  sessions: 'ses_8Tn4Kd',
}
