/**
 * Generates the OpenAPI 3.1 document of each version from the declaration (§12.1). Pure. The server
 * returns it at `/openapi/v1.json`.
 */

import { failures } from '../../kernel/failure.ts'
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { createSchema, type FieldSpecs, parameterSchema } from '../../protocol/fields/schema.ts'
import type { OpenApiDocument } from '../../protocol/openapi/document.ts'
import type { DescribedOperations } from '../../protocol/openapi/engine-words.ts'
import {
  content,
  credentialSchemes,
  errorResponses,
  errorSchemas,
  failing,
  headerParameters,
  idParameter,
  listParameters,
  listSchemas,
  ref,
  responseHeaders,
  securitySchemes,
} from '../../protocol/openapi/parts.ts'
import { bodyFormIn, fieldSpecsOf } from './body-versions.ts'
import type { Catalog } from './catalog.ts'
import { resourcePaths, resourceSchemas } from './openapi-resource.ts'
import { annotateSchema, describeField } from './openapi-words.ts'
import { Resource } from './resource.ts'
import {
  declaresResponse,
  mediaOf,
  type RouteDefinition,
  type RouteInput,
  statusesOf,
} from './route.ts'
import { outputSchema } from './route-output.ts'
import { sampleInput, sampleMember, sampleWire } from './sample.ts'

/** Generates the document of a version; `engine`: the operations that every version has. */
export function openApiDocument(
  catalog: Catalog,
  version: string,
  engine: DescribedOperations,
): OpenApiDocument {
  const { service } = catalog
  const entries = [...catalog.entries.values()]
  const paths: Record<string, JsonSchema> = {}
  for (const entry of entries) Object.assign(paths, resourcePaths(entry, version, catalog))
  for (const route of service.routes) {
    const path = `/api/${version}${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: routeOperation(route, catalog, version),
    }
  }
  const schemas = Object.assign(
    {},
    ...entries.map((entry) => resourceSchemas(entry, version, catalog)),
  )
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
    paths: { ...paths, ...engine.paths },
    components: {
      securitySchemes,
      parameters: {
        ...listParameters,
        ...headerParameters,
      },
      headers: responseHeaders,
      responses: errorResponses,
      schemas: {
        ...schemas,
        ...engine.schemas,
        ...listSchemas,
        ...errorSchemas,
      },
    },
  }
}

const inputBody = (specs: FieldSpecs) => {
  const schema = annotateSchema(createSchema(specs), specs, sampleInput({ input: specs }) ?? {})
  return {
    required: Object.values(specs).some((spec) => spec.write === 'required'),
    content: content(schema),
  }
}

/** Returns the fields of a route's body in a version. */
const inputSpecs = (
  input: RouteInput,
  { entries, versions }: Catalog,
  version: string,
): FieldSpecs =>
  input instanceof Resource
    ? entries.get(input.definition.name)!.shapes.get(version)!.specs
    : fieldSpecsOf(bodyFormIn(input, versions, version).members)

/** Returns a parameter of a path. Behind a collection, its example is the id of the sample row. */
function pathParameter(
  name: string,
  { path }: RouteDefinition,
  { entries }: Catalog,
  version: string,
): JsonSchema {
  const segments = path.split('/')
  const entry = entries.get(segments[segments.indexOf(`:${name}`) - 1] ?? '')
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
  const failureStatuses = new Set([404, 413, 415, 422])
  for (const code of route.failures ?? []) failureStatuses.add(failures[code][0])
  return {
    'x-scope': route.scope,
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\W+/g, '_')}`,
    summary: route.summary,
    parameters: [
      ...inPath,
      ...inQuery,
      ...(route.method === 'GET' ? [] : [ref('parameters', 'Prefer')]),
    ],
    ...(route.input && { requestBody: inputBody(inputSpecs(route.input, catalog, version)) }),
    ...(route.failures && { 'x-errors': route.failures }),
    responses: { ...routeResponses(route, versions, version), ...failing(...failureStatuses) },
  }
}

/** A route that declares no response returns any JSON, or no body. */
const undeclaredResponses = {
  200: { description: 'Done.', content: { 'application/json': { schema: {} } } },
  204: { description: 'Done.' },
}

function routeResponses(
  route: RouteDefinition,
  versions: readonly string[],
  version: string,
): Record<string, unknown> {
  if (!declaresResponse(route)) return undeclaredResponses
  const schema = outputSchema(route, versions, version)
  const headers = Object.entries(route.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const response = {
    description: 'Done.',
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(schema && { content: { [mediaOf(route) ?? 'application/json']: { schema } } }),
  }
  return Object.fromEntries(statusesOf(route).map((status) => [status, response]))
}
