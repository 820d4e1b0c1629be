/**
 * The types of `client-types.ts` as the text of a module, in any version (§15.11): for clients
 * without the declaration. Pure.
 */
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import {
  createSchema,
  type FieldSpecs,
  patchSchema,
  rowSchema,
  valueSchema,
} from '../../protocol/fields/schema.ts'
import { wireName } from '../../protocol/lists/collection.ts'
import {
  createTypeWriter,
  literalType,
  objectType,
  unionType,
} from '../../protocol/openapi/type-code.ts'
import { endpointActions } from './action.ts'
import { type ApiResource, withApi } from './api-resources.ts'
import { bodyFormIn, type DeclaredMembers, fieldSpecsOf } from './body-versions.ts'
import type { ApiEntry, Catalog } from './catalog-entry.ts'
import { detailSpecs } from './failure.ts'
import { ITEMS } from './inner-references.ts'
import { ownFailuresOf } from './listed-failures.ts'
import { mediaTypesOf } from './media.ts'
import { inputIn } from './openapi-resource.ts'
import { schemaName } from './openapi-words.ts'
import { expandableRelations, isInner, type Relation } from './relations.ts'
import { type AnyResource, Resource, type ResourceDefinition } from './resource.ts'
import { actionEvents } from './resource-check.ts'
import type { RouteDefinition } from './route.ts'
import { outputSchema } from './route-output.ts'
import type { VersionShape } from './shape.ts'

type MemberCode = Readonly<Record<string, string>>

/** A named schema is a type of the module. */
const write = createTypeWriter((name) => name)

/** Returns the text of the module. */
export function clientCode(catalog: Catalog, version: string): string {
  const { service } = catalog
  const entries = [...catalog.apiEntries.values()]
  const api = {
    version: literalType(version),
    resources: objectType(
      Object.fromEntries(
        entries.map((entry) => [entry.definition.name, resourceType(entry, version)]),
      ),
      '  ',
    ),
    routes: objectType(
      Object.fromEntries(
        service.routes.map((route) => [
          `${route.method} ${route.path}`,
          routeType(route, catalog, version),
        ]),
      ),
      '  ',
    ),
    events: objectType(eventTypes(catalog, version), '  '),
    failures: objectType(failureTypes(catalog, version), '  '),
  }
  const name = service.name.replaceAll('*/', '* /')
  const parts = [
    `/** Types of ${name} ${version}. \`gatehook client types\` writes them. */\n`,
    ...entries.flatMap(({ definition, shapes }) => rowTypes(definition, shapes.get(version)!)),
    '/** For `createClient<Types>` of gatehook-client. */\n' +
      `export interface Types ${objectType(api)}\n`,
  ]
  return parts.join('\n')
}

const hasLimited = (specs: FieldSpecs): boolean =>
  Object.values(specs).some(({ visibleTo }) => visibleTo !== undefined)

/** Returns the fields that events have. */
const eventSpecs = (specs: FieldSpecs): FieldSpecs =>
  Object.fromEntries(Object.entries(specs).filter(([, spec]) => spec.visibleTo === undefined))

/** Returns the types of a row, of its event objects, and of the bodies that write it. */
function rowTypes(definition: ApiResource, { specs }: VersionShape): string[] {
  const { access } = definition
  const name = schemaName(definition)
  const types: (readonly [name: string, schema: object])[] = [[name, rowSchema(specs)]]
  if (hasLimited(specs)) types.push([`${name}Object`, rowSchema(eventSpecs(specs))])
  if (access.create) types.push([`${name}Create`, createSchema(specs)])
  if (access.update) types.push([`${name}Patch`, patchSchema(specs)])
  return types.map(([type, schema]) => `export type ${type} = ${write(schema)}\n`)
}

/** The types name a member of an object, or of the objects of a list, and the items of a list. */
const isTyped = (relation: Relation): boolean =>
  !isInner(relation) ||
  relation.steps.join() === ITEMS ||
  (relation.steps.at(-1) !== ITEMS && relation.name.split('.').length === 2)

function resourceType(entry: ApiEntry, version: string): string {
  const { definition, shapes } = entry
  const { access, filter, prefix, contains, search, sort } = definition
  const name = schemaName(definition)
  const shape = shapes.get(version)!
  const { specs, chain } = shape
  const inVersion = (columns: readonly string[]) =>
    Object.keys(specs).filter((field) => columns.includes(chain.renamed[field] ?? field))
  const names = (columns: readonly string[]) =>
    unionType(inVersion(columns).map(literalType), '      ')
  const relatedIn = (paths: readonly string[]) =>
    shape.related.filter(({ column }) => paths.includes(wireName(column)))
  const filters = [
    ...inVersion(filter).map((field) => [field, filterType(specs[field]!)]),
    ...relatedIn(definition.related.filter).map(({ name, spec }) => [name, filterType(spec)]),
  ]
  const relations = expandableRelations(definition, shape)
    .filter(isTyped)
    .map((relation) => [
      relation.name,
      objectType(
        {
          resource: literalType(relation.target),
          nullable: String(relation.isNullable),
          ...(isInner(relation) && relation.steps.at(-1) === ITEMS && { many: 'true' }),
        },
        '        ',
      ),
    ])
  const actions = endpointActions(definition).map((action) => [
    action.name,
    write(createSchema(inputIn(action, entry, version)), '        '),
  ])
  const members: MemberCode = {
    row: name,
    create: access.create ? `${name}Create` : 'never',
    update: access.update ? `${name}Patch` : 'never',
    deletes: String(access.delete !== false),
    filters: objectType(Object.fromEntries(filters), '      '),
    prefixes: names(prefix),
    parts: names(contains),
    sorts: unionType(
      [...inVersion(sort), ...relatedIn(definition.related.sort).map((path) => path.name)].map(
        literalType,
      ),
      '      ',
    ),
    searches: String(search.length > 0),
    restores: String(definition.softDeletion !== undefined),
    relations: objectType(Object.fromEntries(relations), '      '),
    actions: objectType(Object.fromEntries(actions), '      '),
  }
  return objectType(members, '    ')
}

const filterType = (spec: FieldSpec): string => write(valueSchema(spec), '        ')

/** Returns the fields of a query or a body, of which the default ones can be absent. */
const inputType = (
  declared: DeclaredMembers | undefined,
  versions: readonly string[],
  version: string,
): string => {
  const { members } = bodyFormIn(declared, versions, version)
  return write(createSchema(fieldSpecsOf(members)), '      ')
}

/** Returns the type that a client reads from a response of a media type. */
function mediaType(type: string): string {
  if (/[/+]json$/.test(type)) return 'unknown'
  return /^text\/|(json|xml)$/.test(type) ? 'string' : 'Uint8Array'
}

function routeType(
  route: RouteDefinition,
  { entries, versions }: Catalog,
  version: string,
): string {
  const { path, query, input } = route
  const params = [...path.matchAll(/:(\w+)/g)].map(([, name]) => literalType(name))
  const rowInput = ({ definition }: AnyResource) =>
    write(createSchema(entries.get(definition.name)!.shapes.get(version)!.specs), '      ')
  const sent = mediaTypesOf(input)
  const media = mediaTypesOf(route.output)
  const output = outputSchema(route, versions, version)
  return objectType(
    {
      params: unionType(params, '      '),
      query: inputType(query as DeclaredMembers, versions, version),
      input: sent
        ? objectType({ media: unionType(sent.map(literalType)), body: 'Uint8Array' }, '      ')
        : input instanceof Resource
          ? rowInput(input)
          : inputType(input as DeclaredMembers, versions, version),
      output: media
        ? unionType(media.map(mediaType))
        : output
          ? write(output, '      ')
          : 'unknown',
    },
    '    ',
  )
}

/** Returns the type of the object of each event. */
function eventTypes({ service, entries, versions }: Catalog, version: string): MemberCode {
  const rowObject = (definition: ResourceDefinition): string => {
    const { specs } = entries.get(definition.name)!.shapes.get(version)!
    return `${schemaName(definition)}${hasLimited(specs) ? 'Object' : ''}`
  }
  const ofRows = withApi(service.resources).flatMap((definition) =>
    [...definition.events, ...actionEvents(definition)].map((type) => [
      type,
      rowObject(definition),
    ]),
  )
  const external = service.externalEvents.map(({ type, event }) => ({
    type,
    resource: undefined,
    fields: event?.fields,
  }))
  const others = [...service.events, ...external].map(({ type, resource, fields }) => {
    if (resource) return [type, rowObject(resource)]
    if (!fields) return [type, 'Readonly<Record<string, unknown>>']
    const { members } = bodyFormIn(fields, versions, version)
    return [type, write(rowSchema(fieldSpecsOf(members)), '    ')]
  })
  return Object.fromEntries([...ofRows, ...others])
}

const failureTypes = ({ service }: Catalog, version: string): MemberCode =>
  Object.fromEntries(
    ownFailuresOf(service).map(({ code, details }) => [
      code,
      details ? write(rowSchema(detailSpecs(details, version)), '    ') : 'undefined',
    ]),
  )
