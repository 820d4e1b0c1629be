/**
 * The OpenAPI 3.1 document of each version, from the declaration (§12.1). Pure; served at
 * `/openapi/v1.json`.
 */
import { type Endpoint, json } from '../http/call.ts'
import { operators } from '../lists/filter.ts'
import type { Catalog, Entry } from './catalog.ts'
import { eventListOperation, eventOperation, protectedOperation } from './openapi-engine.ts'
import {
  answer,
  content,
  errorResponses,
  errorSchema,
  eventSchema,
  failing,
  idParameter,
  listParameters,
  listSchema,
  ref,
  securitySchemes,
} from './openapi-parts.ts'
import type { ActionDefinition } from './resource.ts'
import type { RouteDefinition } from './route.ts'
import {
  createSchema,
  fieldSchema,
  type JsonSchema,
  patchSchema,
  rowSchema,
  type Specs,
} from './schema.ts'
import { eventTypes } from './service.ts'

export type OpenApiDocument = JsonSchema & { readonly paths: Record<string, JsonSchema> }

export function openApiDocument(catalog: Catalog, version: string): OpenApiDocument {
  const { service } = catalog
  const entries = [...catalog.entries.values()]
  const paths: Record<string, JsonSchema> = {}
  for (const entry of entries) Object.assign(paths, resourcePaths(entry, version))
  for (const route of service.routes) {
    const path = `/api/${version}${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: routeOperation(route) }
  }
  paths[`/api/${version}/protected`] = { get: protectedOperation }
  paths['/events'] = { get: eventListOperation }
  paths['/events/{id}'] = { get: eventOperation }
  const schemas = Object.assign({}, ...entries.map((entry) => resourceSchemas(entry, version)))
  return {
    openapi: '3.1.0',
    info: {
      title: service.name,
      version,
      description: `Version ${version} of the API.`,
    },
    servers: [{ url: '/' }],
    security: [{ ApiKey: [] }, { Bearer: [] }, { Basic: [] }],
    tags: [...entries.map(({ definition }) => definition.name), 'events', 'credentials'].map(
      (name) => ({ name }),
    ),
    paths,
    components: {
      securitySchemes,
      parameters: listParameters,
      responses: errorResponses,
      schemas: {
        ...schemas,
        Event: eventSchema(eventTypes(service)),
        EventList: listSchema(ref('schemas', 'Event')),
        Error: errorSchema,
      },
    },
  }
}

/** `/openapi/v1.json`, …: the documents, with the service's own address. */
export function openApiEndpoints(
  documents: ReadonlyMap<string, OpenApiDocument>,
  publicUrl: () => string,
): Endpoint[] {
  return [...documents].map(([version, document]) => ({
    kind: 'public',
    path: `/openapi/${version}.json`,
    methods: {
      GET: {
        authenticated: false,
        handle: () => json(200, { ...document, servers: [{ url: publicUrl() }] }),
      },
    },
  }))
}

/**
 * `orders` → `Order`, by the events' word for one (`order.created`), else the collection's name.
 */
export function schemaName({ definition }: Entry): string {
  const one = definition.events[0]?.split('.')[0] ?? definition.name
  return one.replace(/(^|_)([a-z])/g, (_all, _lead, letter: string) => letter.toUpperCase())
}

function resourceSchemas(entry: Entry, version: string): Record<string, JsonSchema> {
  const name = schemaName(entry)
  const { specs } = entry.shapes.get(version)!
  const { access, actions } = entry.definition
  const schemas: Record<string, JsonSchema> = {
    [name]: { ...rowSchema(specs), additionalProperties: true },
    [`${name}List`]: listSchema(ref('schemas', name)),
  }
  if (access.create) schemas[`${name}Create`] = createSchema(specs)
  if (access.update) schemas[`${name}Patch`] = patchSchema(specs)
  for (const action of actions) {
    if (hasInput(action)) schemas[inputName(name, action)] = createSchema(action.input)
  }
  return schemas
}

const hasInput = (action: ActionDefinition): boolean => Object.keys(action.input).length > 0
const inputName = (name: string, action: ActionDefinition): string =>
  `${name}${action.name[0]!.toUpperCase()}${action.name.slice(1)}Input`

const body = (schema: JsonSchema, required: boolean, type = 'application/json') => ({
  required,
  content: { [type]: { schema } },
})

function resourcePaths(entry: Entry, version: string): Record<string, JsonSchema> {
  const { name, access, actions } = entry.definition
  const one = schemaName(entry)
  const row = ref('schemas', one)
  const tags = [name]
  const needs = (scope: string) => ({ 'x-scope': scope, tags })
  const base = `/api/${version}/${name}`
  const list = {
    ...needs(access.read),
    operationId: `list_${name}`,
    summary: `List ${name}`,
    parameters: [
      ...Object.keys(listParameters).map((parameter) => ref('parameters', parameter)),
      ...ownParameters(entry, version),
    ],
    responses: { ...answer(200, 'A page.', ref('schemas', `${one}List`)), ...failing() },
  }
  const collection: JsonSchema = { get: list }
  const item: JsonSchema = {
    parameters: [idParameter('integer')],
    get: {
      ...needs(access.read),
      operationId: `get_${one.toLowerCase()}`,
      summary: `Read one of ${name}`,
      responses: { ...answer(200, 'The row.', row), ...failing(404) },
    },
  }
  if (access.create) {
    collection.post = {
      ...needs(access.create),
      operationId: `create_${one.toLowerCase()}`,
      summary: `Create one of ${name}`,
      requestBody: body(ref('schemas', `${one}Create`), true),
      responses: { ...answer(201, 'The new row.', row), ...failing(409, 413, 415, 422) },
    }
  }
  if (access.update) {
    item.patch = {
      ...needs(access.update),
      operationId: `update_${one.toLowerCase()}`,
      summary: `Change one of ${name} (merge patch)`,
      requestBody: {
        required: true,
        content: {
          ...content(ref('schemas', `${one}Patch`)),
          'application/merge-patch+json': { schema: ref('schemas', `${one}Patch`) },
        },
      },
      responses: { ...answer(200, 'The row.', row), ...failing(404, 409, 413, 415, 422) },
    }
  }
  if (access.delete) {
    item.delete = {
      ...needs(access.delete),
      operationId: `delete_${one.toLowerCase()}`,
      summary: `Delete one of ${name}`,
      responses: { ...answer(204, 'It is gone.'), ...failing(404, 409) },
    }
  }
  const paths: Record<string, JsonSchema> = { [base]: collection, [`${base}/{id}`]: item }
  for (const action of actions) {
    paths[`${base}/{id}/${action.name}`] = actionPath(action, one, needs(action.scope))
  }
  return paths
}

function actionPath(action: ActionDefinition, one: string, needs: JsonSchema): JsonSchema {
  const from = action.from ? ` from ${action.from.join(' or ')}` : ''
  const to = action.to ? ` to ${action.to}` : ''
  return {
    parameters: [idParameter('integer')],
    post: {
      ...needs,
      operationId: `${action.name}_${one.toLowerCase()}`,
      summary: `${action.name}${from || to ? `:${from}${to}` : ''}`,
      ...(hasInput(action) && {
        requestBody: body(ref('schemas', inputName(one, action)), false),
      }),
      responses: {
        ...answer(200, 'The row.', ref('schemas', one)),
        ...failing(404, 409, 413, 415, 422),
      },
    },
  }
}

/** Sort, fields and filters of one resource, by the names of the version. */
function ownParameters(entry: Entry, version: string): JsonSchema[] {
  const { specs, ladder } = entry.shapes.get(version)!
  const inVersion = (columns: readonly string[]) =>
    Object.keys(specs).filter((name) => columns.includes(ladder.renamed[name] ?? name))
  const { filter, sort } = entry.definition
  const ways = inVersion(sort).flatMap((name) => [name, `-${name}`])
  const csv = (name: string, words: readonly string[], description: string) => ({
    name,
    in: 'query',
    description,
    style: 'form',
    explode: false,
    schema: { type: 'array', items: { type: 'string', enum: words } },
  })
  return [
    csv('sort', ways, 'Columns in order, `-` for descending; the id is always the last.'),
    csv('fields', Object.keys(specs), 'Only these members.'),
    ...inVersion(filter).map((name) => ({
      name,
      in: 'query',
      description: `Also as \`${name}[op]\` with ${Object.keys(operators).slice(1).join(', ')}.`,
      schema: withoutDefault(fieldSchema(specs[name]!)),
    })),
  ]
}

const withoutDefault = ({ default: _default, readOnly: _readOnly, ...schema }: JsonSchema) => schema

const specsOf = (fields: RouteDefinition['input']): Specs =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([name, field]) => [name, field.spec]))

function routeOperation(route: RouteDefinition): JsonSchema {
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  const inPath = names.map((name) => ({ ...idParameter('string'), name }))
  const inQuery = Object.entries(specsOf(route.query)).map(([name, spec]) => ({
    name,
    in: 'query',
    required: spec.write === 'required',
    schema: fieldSchema(spec),
  }))
  return {
    'x-scope': route.scope,
    operationId: `${route.method.toLowerCase()}${route.path.replace(/\W+/g, '_')}`,
    summary: route.summary,
    parameters: [...inPath, ...inQuery],
    ...(route.input && { requestBody: body(createSchema(specsOf(route.input)), true) }),
    responses: { ...answer(200, 'Done.', {}), ...failing(404, 413, 415, 422) },
  }
}
