/** The operations and schemas of one resource in the OpenAPI document of a version (§6.2). Pure. */

import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { idSchema } from '../../protocol/fields/kinds/row-id-kind.ts'
import {
  createSchema,
  type FieldSpecs,
  patchSchema,
  rowSchema,
} from '../../protocol/fields/schema.ts'
import { EXPORT_TYPES } from '../../protocol/lists/export.ts'
import { EXPORTS, FIELDS } from '../../protocol/openapi/list-extensions.ts'
import {
  afterIdParameter,
  answer,
  changeParameters,
  content,
  failing,
  listErrors,
  listExample,
  listParameters,
  listSchema,
  ref,
  unchanged,
  writeErrors,
} from '../../protocol/openapi/parts.ts'
import { type ActionDefinition, type EndpointAction, endpointActions } from './action.ts'
import { bodyFormIn, declaredInput, fieldSpecsOf } from './body-versions.ts'
import type { ApiEntry, Catalog, CatalogEntry } from './catalog-entry.ts'
import { batchPath, batchSchemas } from './openapi-batch.ts'
import {
  bodyOf,
  contextOf,
  describeOperation,
  failedCreation,
  type ResourceContext,
  rowIdParameter,
  ruleErrors,
  signInErrors,
  uniqueErrors,
} from './openapi-context.ts'
import { deletedParameters, restorePath } from './openapi-deleted.ts'
import { columnParameters } from './openapi-filters.ts'
import { withExpanded } from './openapi-relations.ts'
import {
  actionTitle,
  annotateSchema,
  describeFields,
  operationOn,
  operationOnAll,
  schemaName,
  singularWords,
  withArticle,
} from './openapi-words.ts'
import { type ResourceDefinition, STATE_FIELD } from './resource.ts'
import { sampleCreate, sampleInput, samplePatch, sampleWire } from './sample.ts'
import { readScopeOf } from './scopes.ts'

/** Returns the fields of an action's body in a version. */
export function inputIn(
  action: ActionDefinition,
  { shapes }: Pick<CatalogEntry, 'shapes'>,
  version: string,
): FieldSpecs {
  const { members } = bodyFormIn(declaredInput(action), [...shapes.keys()], version)
  return fieldSpecsOf(members)
}

const inputName = (name: string, action: ActionDefinition): string =>
  `${name}${action.name[0]!.toUpperCase()}${action.name.slice(1)}Input`

export function resourceSchemas(
  entry: ApiEntry,
  version: string,
  { apiEntries }: Pick<Catalog, 'apiEntries'>,
): Record<string, JsonSchema> {
  const { definition, shapes } = entry
  const { access } = definition
  const name = schemaName(definition)
  const shape = shapes.get(version)!
  const { specs } = shape
  const row = sampleWire(definition, shape)
  const object = withArticle(singularWords(definition))
  const fields = annotateSchema({ ...rowSchema(specs), additionalProperties: true }, specs, row)
  const properties = fields.properties as Record<string, JsonSchema>
  const members = withExpanded(properties, entry, version, apiEntries)
  const schemas: Record<string, JsonSchema> = {
    [name]: { description: `${definition.name}: a row.`, ...fields, properties: members },
    [`${name}List`]: {
      description: `A page of ${definition.name}, in the style that the request selects.`,
      ...listSchema(ref('schemas', name), afterIdSchema(definition)),
    },
  }
  if (access.create) {
    schemas[`${name}Create`] = {
      description: `The body that creates ${object}.`,
      ...annotateSchema(createSchema(specs), specs, row),
    }
  }
  if (access.update) {
    schemas[`${name}Patch`] = {
      description: `A merge patch of ${object} (RFC 7396): omitted members do not change.`,
      ...annotateSchema(patchSchema(specs), specs, row),
    }
  }
  if (definition.batch) Object.assign(schemas, batchSchemas(definition, name))
  for (const action of endpointActions(definition)) {
    const input = inputIn(action, entry, version)
    const example = sampleInput({ input })
    if (!example) continue
    schemas[inputName(name, action)] = {
      description: `The body of the action \`${action.name}\`.`,
      ...annotateSchema(createSchema(input), input, example),
    }
  }
  return schemas
}

export function resourcePaths(
  entry: ApiEntry,
  version: string,
  catalog: Pick<Catalog, 'apiEntries' | 'service'>,
): Record<string, JsonSchema> {
  const context = contextOf(entry, version, catalog)
  const { name, access, batch } = entry.definition
  const base = `/api/${version}/${name}`
  const paths: Record<string, JsonSchema> = {
    [base]: collectionPath(context),
    ...(batch && access.create && { [`${base}/batch`]: batchPath(context, access.create) }),
    ...restorePath(context, `${base}/{id}/restore`),
    [`${base}/{id}`]: itemPath(context),
  }
  for (const action of endpointActions(entry.definition)) {
    paths[`${base}/{id}/${action.name}`] = actionPath(context, action)
  }
  return paths
}

function collectionPath(context: ResourceContext): JsonSchema {
  const { entry, version, schema, object, reach, row, expand } = context
  const { definition, shapes } = entry
  const { name, access } = definition
  const get = describeOperation(context, {
    id: operationOnAll('list', definition),
    scope: readScopeOf(definition),
    summary: `List ${name}`,
    description: `${reach.read}${describeExport(definition)}`,
    errors: listErrors,
    parts: {
      ...listExtensions(entry, version),
      parameters: [
        ...pageParameters(definition),
        ...columnParameters(entry, version),
        ...expand,
        ...deletedParameters(definition),
        ref('parameters', 'IfNoneMatch'),
      ],
      responses: {
        ...answer(200, 'A page.', ref('schemas', `${schema}List`), listExample(row)),
        ...unchanged,
        ...failing(),
      },
    },
  })
  if (!access.create) return { get }
  const example = sampleCreate(definition, shapes.get(version)!)
  const post = describeOperation(context, {
    id: operationOn('create', definition),
    scope: access.create,
    summary: `Create ${object}`,
    description: reach.create,
    errors: [...writeErrors, ...uniqueErrors(definition), ...ruleErrors(definition)],
    operation: 'create',
    parts: {
      parameters: [ref('parameters', 'IdempotencyKey'), ref('parameters', 'Prefer')],
      requestBody: bodyOf(`${schema}Create`, example, true),
      responses: {
        ...answer(201, 'The new row.', ref('schemas', schema), row),
        ...failedCreation(definition),
      },
    },
  })
  return { get, post }
}

/** The keyset style has the ids of the resource. */
const pageParameters = ({ fields }: ResourceDefinition): JsonSchema[] =>
  Object.keys(listParameters).map((name) =>
    name === 'AfterId' && fields.id!.idPrefix !== undefined
      ? afterIdParameter(idSchema(fields.id!))
      : ref('parameters', name),
  )

/** Returns the schema of a position in the keyset style; undefined for an integer. */
const afterIdSchema = ({ fields: { id } }: ResourceDefinition): JsonSchema | undefined =>
  id!.idPrefix === undefined ? undefined : idSchema(id!)

/**
 * Describes what changes the response of a list: `fields` omits members that a row requires, and an
 * export is no page. A response has one schema for every request, so neither is a parameter or a
 * media type of the operation (decision 0065).
 */
const listExtensions = ({ definition, shapes }: CatalogEntry, version: string): JsonSchema => ({
  [FIELDS]: Object.entries(shapes.get(version)!.specs)
    .filter(([, { isWriteOnly }]) => !isWriteOnly)
    .map(([name]) => name),
  ...(definition.isExported && { [EXPORTS]: EXPORT_TYPES }),
})

const describeExport = ({ isExported }: ResourceDefinition): string =>
  isExported
    ? ` With \`Accept: ${EXPORT_TYPES.join('` or `')}\` the response has all rows. In NDJSON, ` +
      '`cursors=true` adds lines `{"_cursor": …}` from which a further export resumes.'
    : ''

function itemPath(context: ResourceContext): JsonSchema {
  const { entry, schema, object, reach, row, expand } = context
  const { definition } = entry
  const { access } = definition
  const answers = answer(200, 'The row.', ref('schemas', schema), row)
  const item: JsonSchema = {
    parameters: [rowIdParameter(context)],
    get: describeOperation(context, {
      id: operationOn('get', definition),
      scope: readScopeOf(definition),
      summary: `Read ${object}`,
      description: reach.read,
      errors: expand.length > 0 ? ['invalid_parameter', 'not_found'] : ['not_found'],
      parts: {
        parameters: [...expand, ref('parameters', 'IfNoneMatch')],
        responses: { ...answers, ...unchanged, ...failing(404) },
      },
    }),
  }
  if (access.update) item.patch = patchOperation(context, access.update, answers)
  if (access.delete) {
    item.delete = describeOperation(context, {
      id: operationOn('delete', definition),
      scope: access.delete,
      summary: `Delete ${object}`,
      description: `${reach.change} ${context.deletion}`,
      operation: 'delete',
      errors: ['not_found', 'conflict', 'precondition_failed', 'change_too_large'],
      parts: {
        parameters: [ref('parameters', 'IfMatch'), ref('parameters', 'Prefer')],
        responses: { ...answer(204, 'Deleted.'), ...failing(404, 409, 412, 413) },
      },
    })
  }
  return item
}

function patchOperation(context: ResourceContext, scope: string, answers: object): JsonSchema {
  const { entry, version, schema, object, reach } = context
  const { definition, shapes } = entry
  const patch = content(
    ref('schemas', `${schema}Patch`),
    samplePatch(definition, shapes.get(version)!),
  )['application/json']
  return describeOperation(context, {
    id: operationOn('update', definition),
    scope,
    summary: `Change ${object}`,
    description: `Merge patch. ${reach.change}${describeFields(definition, shapes.get(version)!)}`,
    operation: 'update',
    errors: [
      'not_found',
      ...writeErrors,
      ...uniqueErrors(definition),
      ...signInErrors(definition),
      'precondition_failed',
    ],
    parts: {
      parameters: changeParameters,
      requestBody: {
        required: true,
        content: { 'application/json': patch, 'application/merge-patch+json': patch },
      },
      responses: { ...answers, ...failing(404, 409, 412, 413, 415, 422) },
    },
  })
}

function actionPath(context: ResourceContext, action: EndpointAction): JsonSchema {
  const { entry, schema, reach, row, version } = context
  const { from, to, emits } = action
  const example = sampleInput({ input: inputIn(action, entry, version) })
  const states = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(' or ')
  const result = to === undefined ? row : { ...row, [STATE_FIELD]: to }
  const sentences = [
    from && `Possible while \`${STATE_FIELD}\` is ${states(from)}.`,
    to && `The new state is \`${to}\`.`,
    emits && `Records the event \`${emits}\` in the same transaction.`,
    reach.change,
  ]
  const post = describeOperation(context, {
    id: operationOn(action.name, entry.definition),
    scope: action.scope,
    summary: actionTitle(action.name, entry.definition),
    description: sentences.filter((sentence) => sentence !== undefined).join(' '),
    operation: action.name,
    errors: [
      ...(from ? (['invalid_state'] as const) : []),
      'not_found',
      ...(example ? writeErrors : (['change_too_large'] as const)),
      ...signInErrors(entry.definition),
      'precondition_failed',
    ],
    parts: {
      parameters: changeParameters,
      ...(example && {
        requestBody: bodyOf(inputName(schema, action), example, false),
      }),
      responses: {
        ...answer(200, 'The row.', ref('schemas', schema), rowIn(context, result)),
        ...failing(404, 409, 412, 413, 415, 422),
      },
    },
  })
  return { parameters: [rowIdParameter(context)], post }
}

/** An older version can have other states: then the example is the row before the action. */
function rowIn({ entry, version, row }: ResourceContext, result: object): object {
  const values = entry.shapes.get(version)!.specs[STATE_FIELD]?.values
  const state = (result as Record<string, unknown>)[STATE_FIELD]
  return values === undefined || values.includes(String(state)) ? result : row
}
