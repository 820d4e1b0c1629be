/**
 * Generates the OpenAPI 3.1 document of each version from the declaration (§12.1). Pure. The server
 * returns it at `/openapi/v1.json`.
 */

import type { FailureCode } from '../../kernel/failure.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import {
  createSchema,
  type FieldSpecs,
  parameterSchema,
  rowSchema,
} from '../../protocol/fields/schema.ts'
import { defaultLimits } from '../../protocol/http/exchange.ts'
import type { OpenApiDocument } from '../../protocol/openapi/document.ts'
import type { DescribedOperations } from '../../protocol/openapi/engine-words.ts'
import {
  content,
  credentialSchemes,
  errorSchemas,
  failing,
  headerParameters,
  idParameter,
  listParameters,
  listSchemas,
  ref,
  responseHeaders,
  securitySchemes,
  usedErrorResponses,
} from '../../protocol/openapi/parts.ts'
import { OWN_FAILURES } from '../../protocol/openapi/problem-responses.ts'
import { bodyFormIn, fieldSpecsOf } from './body-versions.ts'
import type { Catalog } from './catalog.ts'
import { detailSpecs } from './failure.ts'
import { type FailureDefinition, ownFailuresOf } from './listed-failures.ts'
import { mediaTypesOf } from './media.ts'
import { withListed } from './openapi-context.ts'
import { resourcePaths, resourceSchemas } from './openapi-resource.ts'
import { annotateSchema, describeField } from './openapi-words.ts'
import { Resource, type ResourceDefinition } from './resource.ts'
import {
  declaresResponse,
  type ForwardDefinition,
  type RouteDefinition,
  type RouteInput,
  statusesOf,
} from './route.ts'
import { outputSample, outputSchema } from './route-output.ts'
import { sampleInput, sampleMember, sampleWire } from './sample.ts'

/** Generates the document of a version; `engine`: the operations that every version has. */
export function openApiDocument(
  catalog: Catalog,
  version: string,
  engine: DescribedOperations,
): OpenApiDocument {
  const { service } = catalog
  const entries = [...catalog.apiEntries.values()]
  const paths: Record<string, JsonSchema> = {}
  for (const entry of entries) Object.assign(paths, resourcePaths(entry, version, catalog))
  for (const route of service.routes) {
    const path = `/api/${version}${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: routeOperation(route, catalog, version),
    }
  }
  const own = ownFailuresOf(service)
  const schemas = Object.assign(
    {},
    ...entries.map((entry) => resourceSchemas(entry, version, catalog)),
  )
  const allPaths = { ...paths, ...engine.paths }
  return {
    openapi: '3.1.0',
    info: {
      title: service.name,
      version,
      description: `Version ${version} of the API.`,
    },
    servers: [{ url: '/' }],
    security: credentialSchemes,
    tags: [
      ...entries.map(({ definition: { name } }) => ({ name, description: `The ${name}.` })),
      { name: 'events', description: 'Events, as webhooks deliver them.' },
      { name: 'webhooks', description: 'Registrations of receivers, and their deliveries.' },
      { name: 'credentials', description: 'The credential of the caller.' },
    ],
    ...(own.length > 0 && { [OWN_FAILURES]: ownFailureWords(own, version) }),
    paths: allPaths,
    components: {
      securitySchemes,
      parameters: {
        ...listParameters,
        ...headerParameters,
      },
      headers: responseHeaders,
      responses: usedErrorResponses(allPaths),
      schemas: {
        ...schemas,
        ...engine.schemas,
        ...listSchemas,
        ...errorSchemas,
      },
    },
  }
}

/** Describes the failures of the team: status, sentence, and the schema of `details`. */
const ownFailureWords = (own: readonly FailureDefinition[], version: string): JsonSchema =>
  Object.fromEntries(
    own.map(({ code, status, message: description, details }) => {
      const specs = details && detailSpecs(details, version)
      const properties = specs && { details: rowSchema(specs) }
      return [code, { status, description, ...(properties && { properties }) }]
    }),
  )

/** Returns the content of a body that is not JSON. */
const mediaContent = (types: readonly string[], maxLength?: number) =>
  Object.fromEntries(
    types.map((type) => {
      const format = type.startsWith('text/') ? {} : { format: 'binary' }
      return [type, { schema: { type: 'string', ...format, ...(maxLength && { maxLength }) } }]
    }),
  )

function inputBody(
  { input, maxBodyBytes = defaultLimits.bodyBytes }: RouteDefinition,
  catalog: Catalog,
  version: string,
) {
  const types = mediaTypesOf(input)
  if (types) return { required: true, content: mediaContent(types, maxBodyBytes) }
  const specs = inputSpecs(input!, catalog, version)
  const schema = annotateSchema(createSchema(specs), specs, sampleInput({ input: specs }) ?? {})
  return {
    required: Object.values(specs).some((spec) => spec.write === 'required'),
    content: content(schema),
  }
}

/** Returns the fields of a route's body in a version. */
const inputSpecs = (
  input: RouteInput,
  { apiEntries, versions }: Catalog,
  version: string,
): FieldSpecs =>
  input instanceof Resource
    ? apiEntries.get(input.definition.name)!.shapes.get(version)!.specs
    : fieldSpecsOf(bodyFormIn(input, versions, version).members)

/** Returns a parameter of a path. Behind a collection, its example is the id of the sample row. */
function pathParameter(
  name: string,
  { path, forward }: RouteDefinition,
  { apiEntries }: Catalog,
  version: string,
): JsonSchema {
  if (forward?.integers.includes(name)) {
    return { ...idParameter({ type: 'integer', minimum: 0 }), name }
  }
  const segments = path.split('/')
  const entry = apiEntries.get(segments[segments.indexOf(`:${name}`) - 1] ?? '')
  const row = entry && sampleWire(entry.definition, entry.shapes.get(version)!)
  const examples = row && { examples: [String(row.id)] }
  return { ...idParameter({ type: 'string', ...examples }), name }
}

function routeOperation(route: RouteDefinition, catalog: Catalog, version: string): JsonSchema {
  const { versions } = catalog
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  const inPath = names.map((name) => pathParameter(name, route, catalog, version))
  const inQuery = Object.entries(
    fieldSpecsOf(bodyFormIn(route.query, versions, version).members),
  ).map(([name, spec]) => {
    const { description: _, ...schema } = parameterSchema(spec)
    const description = describeField(name, spec)
    const required = spec.write === 'required'
    const examples = [sampleMember(name, spec)]
    return { name, in: 'query', description, required, schema: { ...schema, examples } }
  })
  const { forward } = route
  const listed = [
    ...(route.failures ?? []),
    ...(route.steps ? stepFailures : []),
    ...(forward ? forwardFailures(route, forward) : []),
  ]
  return withListed(listed, {
    'x-scope': route.scope,
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\W+/g, '_')}`,
    summary: route.summary,
    parameters: [
      ...inPath,
      ...inQuery,
      ...(route.steps ? [requiredKey] : []),
      ...(forward && TAKES_KEY.has(route.method) ? [ref('parameters', 'IdempotencyKey')] : []),
      ...(route.method === 'GET' || route.steps || forward ? [] : [ref('parameters', 'Prefer')]),
    ],
    ...(route.input && { requestBody: inputBody(route, catalog, version) }),
    responses: { ...routeResponses(route, catalog, version), ...failing(404, 413, 415, 422) },
  })
}

/** Of a route with steps (§15.6). */
const repeatFailures = [
  'invalid_idempotency_key',
  'idempotency_in_progress',
  'idempotency_key_reused',
] as const
const stepFailures: readonly FailureCode[] = [
  'idempotency_key_required',
  ...repeatFailures,
  'step_outcome_unknown',
  'request_incomplete',
]
const TAKES_KEY: ReadonlySet<string> = new Set(['POST', 'PATCH'])

/** Of a route that an upstream answers (§17.5). */
const forwardFailures = (
  { method, output }: RouteDefinition,
  { errors }: ForwardDefinition,
): readonly FailureCode[] => [
  'upstream_failed',
  'upstream_unreachable',
  'upstream_timeout',
  ...(output ? (['upstream_invalid'] as const) : []),
  ...(errors === 'wrap' ? (['upstream_refused'] as const) : []),
  ...(TAKES_KEY.has(method) ? (['outcome_unknown', ...repeatFailures] as const) : []),
]
const requiredKey = { ...headerParameters.IdempotencyKey, required: true }

/** A route that declares no response returns any JSON, or no body. */
const undeclaredResponses = {
  200: { description: 'Done.', content: { 'application/json': { schema: {} } } },
  204: { description: 'Done.' },
}

function routeResponses(
  route: RouteDefinition,
  { versions, apiEntries }: Catalog,
  version: string,
): Record<string, unknown> {
  if (!declaresResponse(route)) return undeclaredResponses
  const types = mediaTypesOf(route.output)
  const schema = outputSchema(route, versions, version) ?? (route.forward && {})
  const rowOf = (definition: ResourceDefinition) =>
    sampleWire(definition, apiEntries.get(definition.name)!.shapes.get(version)!)
  const example = outputSample(route, { versions, version, rowOf })
  const headers = Object.entries(route.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const response = {
    description: 'Done.',
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(types && { content: mediaContent(types) }),
    ...(schema && { content: content(schema, example) }),
  }
  return Object.fromEntries(statusesOf(route).map((status) => [status, response]))
}
