/**
 * Generates the OpenAPI 3.1 document of each version from the declaration (§12.1). Pure. The server
 * returns it at `/openapi/v1.json`.
 */
import { json, type Route } from '../http/call.ts'
import { OPERATORS } from '../lists/filter.ts'
import type { Catalog, CatalogEntry } from './catalog.ts'
import { enginePaths, protectedOperation } from './openapi-engine.ts'
import {
  answer,
  content,
  errorResponses,
  errorSchema,
  eventSchema,
  failing,
  headerParameters,
  idParameter,
  listParameters,
  listSchema,
  ref,
  securitySchemes,
  unchanged,
} from './openapi-parts.ts'
import { webhookPaths, webhookSchemas } from './openapi-webhooks.ts'
import { allScope, ownerPathOf, type RowOperation } from './ownership.ts'
import { type ActionDefinition, type ResourceDefinition, STATE_FIELD } from './resource.ts'
import { type RouteDefinition, specsOfRoute } from './route.ts'
import {
  createSchema,
  type FieldSpecs,
  fieldSchema,
  type JsonSchema,
  patchSchema,
  rowSchema,
} from './schema.ts'
import { PUBLIC, readScopeOf } from './scopes.ts'
import { listEventTypes } from './service.ts'

type OpenApiDocument = JsonSchema & { readonly paths: Record<string, JsonSchema> }

/** The schemes of operations without their own `security`. */
const security = [{ ApiKey: [] }, { Bearer: [] }, { Basic: [] }]

export function openApiDocument(catalog: Catalog, version: string): OpenApiDocument {
  const { service } = catalog
  const entries = [...catalog.entries.values()]
  const paths: Record<string, JsonSchema> = {}
  for (const entry of entries)
    Object.assign(paths, resourcePaths(entry, version, service.resources))
  for (const route of service.routes) {
    const path = `/api/${version}${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: routeOperation(route) }
  }
  paths[`/api/${version}/protected`] = { get: protectedOperation }
  Object.assign(paths, enginePaths(service), webhookPaths)
  const schemas = Object.assign({}, ...entries.map((entry) => resourceSchemas(entry, version)))
  return {
    openapi: '3.1.0',
    info: {
      title: service.name,
      version,
      description: `Version ${version} of the API.`,
    },
    servers: [{ url: '/' }],
    security,
    tags: [
      ...entries.map(({ definition: { name } }) => ({ name, description: `The ${name}.` })),
      { name: 'events', description: 'Events, as webhooks deliver them.' },
      { name: 'webhooks', description: 'Registrations of receivers, and their deliveries.' },
      { name: 'credentials', description: 'The credential of the caller.' },
    ],
    paths,
    components: {
      securitySchemes,
      parameters: { ...listParameters, ...headerParameters },
      responses: errorResponses,
      schemas: {
        ...schemas,
        ...webhookSchemas,
        Event: eventSchema(listEventTypes(service)),
        EventList: listSchema(ref('schemas', 'Event')),
        Error: errorSchema,
      },
    },
  }
}

/** Serves `/openapi/v1.json`, …, with the public URL of the service. */
export function openApiRoutes(
  documents: ReadonlyMap<string, OpenApiDocument>,
  publicUrl: () => string,
): Route[] {
  return [...documents].map(([version, document]) => ({
    path: `/openapi/${version}.json`,
    methods: {
      GET: {
        handle: () => json(200, { ...document, servers: [{ url: publicUrl() }] }),
      },
    },
  }))
}

/** Returns `Order` for `orders`: the first part of its events (`order.created`), else its name. */
function schemaName({ definition }: CatalogEntry): string {
  const singular = definition.events[0]?.split('.')[0] ?? definition.name
  return singular.replace(/(^|_)([a-z])/g, (_all, _lead, letter: string) => letter.toUpperCase())
}

function resourceSchemas(entry: CatalogEntry, version: string): Record<string, JsonSchema> {
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

/** The names and sentences that the operations of a resource share. */
interface ResourceWords {
  /** `orders`, in paths and tags. */
  readonly collection: string
  /** `Order`, in schemas. */
  readonly schema: string
  /** The rows that a person reaches, by operation (§6.7). */
  readonly persons: Readonly<Record<RowOperation, string>>
}

/** Without a `scope`, the operation also serves anonymous callers. */
const operation = (
  { collection, schema, persons }: ResourceWords,
  verb: string,
  scope: string | undefined,
  summary: string,
  { access, fixed = '', ...more }: JsonSchema & { access: RowOperation; fixed?: string },
): JsonSchema => ({
  ...(scope === undefined ? { security: [{}, ...security] } : { 'x-scope': scope }),
  tags: [collection],
  operationId: `${verb}_${verb === 'list' ? collection : schema.toLowerCase()}`,
  summary,
  description: `${persons[access]}${fixed}`,
  ...more,
})

/** Describes §6.7 and §6.10 in sentences. */
function personsIn(
  definition: ResourceDefinition,
  resources: readonly ResourceDefinition[],
): ResourceWords['persons'] {
  const { name, access, signsIn } = definition
  const all = `\`${allScope(name)}\``
  if (ownerPathOf(definition, resources)) {
    const own = `A person reaches its own ${signsIn ? 'row' : 'rows'} only, unless it holds ${all}.`
    const create = signsIn ? `A person needs ${all}.` : 'A person creates its own rows only.'
    return { read: own, create, change: own }
  }
  const closed = `Closed to persons, unless they hold ${all}.`
  const open = 'A person reaches every row of its customer and mode.'
  const change = access.persons === 'write' ? open : closed
  if (access.read === PUBLIC) {
    const read = 'Without a credential, the live rows of the customer `default`.'
    return { read, create: change, change }
  }
  return { read: access.persons === undefined ? closed : open, create: change, change }
}

/** Describes the fields that a PATCH can change in some states only. */
const fixedIn = ({ editable }: ResourceDefinition): string =>
  editable
    .map(({ fields, from }) => {
      const names = fields.map((name) => `\`${name}\``).join(', ')
      return ` While \`${STATE_FIELD}\` is not ${from.join(' or ')}, ${names} are fixed (422).`
    })
    .join('')

function resourcePaths(
  entry: CatalogEntry,
  version: string,
  resources: readonly ResourceDefinition[],
): Record<string, JsonSchema> {
  const { name, actions } = entry.definition
  const persons = personsIn(entry.definition, resources)
  const words: ResourceWords = { collection: name, schema: schemaName(entry), persons }
  const base = `/api/${version}/${name}`
  const paths: Record<string, JsonSchema> = {
    [base]: collectionPath(entry, version, words),
    [`${base}/{id}`]: itemPath(entry, words),
  }
  for (const action of actions) paths[`${base}/{id}/${action.name}`] = actionPath(action, words)
  return paths
}

function collectionPath(entry: CatalogEntry, version: string, words: ResourceWords): JsonSchema {
  const { collection, schema } = words
  const { access } = entry.definition
  const parameters = [
    ...Object.keys(listParameters).map((parameter) => ref('parameters', parameter)),
    ...resourceParameters(entry, version),
    ref('parameters', 'IfNoneMatch'),
  ]
  const get = operation(words, 'list', readScopeOf(entry.definition), `List ${collection}`, {
    access: 'read',
    parameters,
    responses: {
      ...answer(200, 'A page.', ref('schemas', `${schema}List`)),
      ...unchanged,
      ...failing(),
    },
  })
  if (!access.create) return { get }
  const post = operation(words, 'create', access.create, `Create one of ${collection}`, {
    access: 'create',
    parameters: [ref('parameters', 'IdempotencyKey')],
    requestBody: body(ref('schemas', `${schema}Create`), true),
    responses: {
      ...answer(201, 'The new row.', ref('schemas', schema)),
      ...failing(409, 413, 415, 422),
    },
  })
  return { get, post }
}

function itemPath({ definition }: CatalogEntry, words: ResourceWords): JsonSchema {
  const { collection, schema } = words
  const { access } = definition
  const row = answer(200, 'The row.', ref('schemas', schema))
  const item: JsonSchema = {
    parameters: [idParameter('integer')],
    get: operation(words, 'get', readScopeOf(definition), `Read one of ${collection}`, {
      access: 'read',
      parameters: [ref('parameters', 'IfNoneMatch')],
      responses: { ...row, ...unchanged, ...failing(404) },
    }),
  }
  if (access.update) {
    const patchRef = ref('schemas', `${schema}Patch`)
    item.patch = operation(
      words,
      'update',
      access.update,
      `Change one of ${collection} (merge patch)`,
      {
        access: 'change',
        fixed: fixedIn(definition),
        parameters: [ref('parameters', 'IfMatch'), ref('parameters', 'IdempotencyKey')],
        requestBody: {
          required: true,
          content: { ...content(patchRef), 'application/merge-patch+json': { schema: patchRef } },
        },
        responses: { ...row, ...failing(404, 409, 412, 413, 415, 422) },
      },
    )
  }
  if (access.delete) {
    item.delete = operation(words, 'delete', access.delete, `Delete one of ${collection}`, {
      access: 'change',
      parameters: [ref('parameters', 'IfMatch')],
      responses: { ...answer(204, 'Deleted.'), ...failing(404, 409, 412) },
    })
  }
  return item
}

function actionPath(action: ActionDefinition, words: ResourceWords): JsonSchema {
  const from = action.from ? ` from ${action.from.join(' or ')}` : ''
  const to = action.to ? ` to ${action.to}` : ''
  const { schema } = words
  const summary = `${action.name}${from || to ? `:${from}${to}` : ''}`
  return {
    parameters: [idParameter('integer')],
    post: operation(words, action.name, action.scope, summary, {
      access: 'change',
      parameters: [ref('parameters', 'IfMatch'), ref('parameters', 'IdempotencyKey')],
      ...(hasInput(action) && {
        requestBody: body(ref('schemas', inputName(schema, action)), false),
      }),
      responses: {
        ...answer(200, 'The row.', ref('schemas', schema)),
        ...failing(404, 409, 412, 413, 415, 422),
      },
    }),
  }
}

/** Returns the parameters for sort, fields and filters, with the names of the version. */
function resourceParameters(entry: CatalogEntry, version: string): JsonSchema[] {
  const { specs, chain } = entry.shapes.get(version)!
  const inVersion = (columns: readonly string[]) =>
    Object.keys(specs).filter((name) => columns.includes(chain.renamed[name] ?? name))
  const { filter, sort } = entry.definition
  const sortValues = inVersion(sort).flatMap((name) => [name, `-${name}`])
  const csv = (name: string, words: readonly string[], description: string) => ({
    name,
    in: 'query',
    description,
    style: 'form',
    explode: false,
    schema: { type: 'array', items: { type: 'string', enum: words } },
  })
  return [
    csv('sort', sortValues, 'Columns in order, `-` for descending. The id is always the last.'),
    csv('fields', Object.keys(specs), 'The members to return.'),
    ...inVersion(filter).map((name) => ({
      name,
      in: 'query',
      description: `Also as \`${name}[op]\` with ${Object.keys(OPERATORS).slice(1).join(', ')}.`,
      schema: withoutDefault(fieldSchema(specs[name]!)),
    })),
  ]
}

const withoutDefault = ({ default: _default, readOnly: _readOnly, ...schema }: JsonSchema) => schema

const inputBody = (specs: FieldSpecs) =>
  body(
    createSchema(specs),
    Object.values(specs).some((spec) => spec.write === 'required'),
  )

function routeOperation(route: RouteDefinition): JsonSchema {
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  const inPath = names.map((name) => ({ ...idParameter('string'), name }))
  const inQuery = Object.entries(specsOfRoute(route.query)).map(([name, spec]) => ({
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
    ...(route.input && { requestBody: inputBody(specsOfRoute(route.input)) }),
    responses: { ...answer(200, 'Done.', {}), ...failing(404, 413, 415, 422) },
  }
}
