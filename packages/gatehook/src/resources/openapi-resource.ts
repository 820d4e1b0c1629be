/** The operations and schemas of one resource in the OpenAPI document of a version (§6.2). Pure. */

import type { FieldSpec } from '../fields/fields.ts'
import {
  createSchema,
  type FieldSpecs,
  idSchema,
  type JsonSchema,
  parameterSchema,
  patchSchema,
  rowSchema,
} from '../fields/schema.ts'
import { OPERATORS } from '../lists/filter.ts'
import { SEARCH, SEARCH_MAX_CHARACTERS } from '../lists/search-term.ts'
import { TEXT_MAX_CHARACTERS } from '../lists/text-filter.ts'
import { LIST_WORDS } from '../lists/value-list.ts'
import {
  afterIdParameter,
  answer,
  content,
  failing,
  listErrors,
  listExample,
  listParameters,
  listSchema,
  ref,
  unchanged,
  writeErrors,
} from '../openapi/parts.ts'
import { bodyFormIn, declaredInput, fieldSpecsOf } from './body-versions.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
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
import { expandedMembers } from './openapi-relations.ts'
import {
  actionTitle,
  annotateSchema,
  describeFields,
  schemaName,
  singularWords,
  withArticle,
} from './openapi-words.ts'
import { type ActionDefinition, type ResourceDefinition, STATE_FIELD } from './resource.ts'
import { sampleCreate, sampleInput, samplePatch, sampleWire } from './sample.ts'
import { readScopeOf } from './scopes.ts'

/** Returns the fields of an action's body in a version. */
function inputIn(action: ActionDefinition, { shapes }: CatalogEntry, version: string): FieldSpecs {
  const { members } = bodyFormIn(declaredInput(action), [...shapes.keys()], version)
  return fieldSpecsOf(members)
}

const inputName = (name: string, action: ActionDefinition): string =>
  `${name}${action.name[0]!.toUpperCase()}${action.name.slice(1)}Input`

export function resourceSchemas(
  entry: CatalogEntry,
  version: string,
  { entries }: Pick<Catalog, 'entries'>,
): Record<string, JsonSchema> {
  const { definition, shapes } = entry
  const { access, actions } = definition
  const name = schemaName(definition)
  const shape = shapes.get(version)!
  const { specs } = shape
  const row = sampleWire(definition, shape)
  const object = withArticle(singularWords(definition))
  const fields = annotateSchema({ ...rowSchema(specs), additionalProperties: true }, specs, row)
  const members = { ...(fields.properties as object), ...expandedMembers(entry, version, entries) }
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
  for (const action of actions) {
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
  entry: CatalogEntry,
  version: string,
  catalog: Pick<Catalog, 'entries' | 'service'>,
): Record<string, JsonSchema> {
  const context = contextOf(entry, version, catalog)
  const { name, actions, access, batch } = entry.definition
  const base = `/api/${version}/${name}`
  const paths: Record<string, JsonSchema> = {
    [base]: collectionPath(context),
    ...(batch && access.create && { [`${base}/batch`]: batchPath(context, access.create) }),
    ...restorePath(context, `${base}/{id}/restore`),
    [`${base}/{id}`]: itemPath(context),
  }
  for (const action of actions) {
    paths[`${base}/{id}/${action.name}`] = actionPath(context, action)
  }
  return paths
}

function collectionPath(context: ResourceContext): JsonSchema {
  const { entry, version, schema, object, reach, row, expand } = context
  const { definition, shapes } = entry
  const { name, access } = definition
  const get = describeOperation(context, {
    id: `list_${name}`,
    scope: readScopeOf(definition),
    summary: `List ${name}`,
    description: reach.read,
    errors: listErrors,
    parts: {
      parameters: [
        ...pageParameters(definition),
        ...columnParameters(entry, version),
        ...expand,
        ...(definition.isExported ? [ref('parameters', 'Cursors')] : []),
        ...deletedParameters(definition),
        ref('parameters', 'IfNoneMatch'),
      ],
      responses: {
        ...listAnswer(context),
        ...unchanged,
        ...failing(),
      },
    },
  })
  if (!access.create) return { get }
  const example = sampleCreate(definition, shapes.get(version)!)
  const post = describeOperation(context, {
    id: `create_${schema.toLowerCase()}`,
    scope: access.create,
    summary: `Create ${object}`,
    description: reach.create,
    errors: [...writeErrors, ...uniqueErrors(definition), ...ruleErrors(definition)],
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

/** Returns the response of the list: a page, or all rows for a caller that accepts an export. */
function listAnswer({ entry, schema, row }: ResourceContext) {
  const page = answer(200, 'A page.', ref('schemas', `${schema}List`), listExample(row))
  if (!entry.definition.isExported) return page
  const { content } = page[200]!
  const lines = { type: 'string', description: 'All rows, one as JSON on each line.' }
  const table = { type: 'string', description: 'All rows, after a line with the names.' }
  const exports = { 'application/x-ndjson': { schema: lines }, 'text/csv': { schema: table } }
  return { 200: { description: 'A page, or an export.', content: { ...content, ...exports } } }
}

function itemPath(context: ResourceContext): JsonSchema {
  const { entry, schema, object, reach, row, expand } = context
  const { definition } = entry
  const { access } = definition
  const answers = answer(200, 'The row.', ref('schemas', schema), row)
  const item: JsonSchema = {
    parameters: [rowIdParameter(context)],
    get: describeOperation(context, {
      id: `get_${schema.toLowerCase()}`,
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
      id: `delete_${schema.toLowerCase()}`,
      scope: access.delete,
      summary: `Delete ${object}`,
      description: `${reach.change} ${context.deletion}`,
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
    id: `update_${schema.toLowerCase()}`,
    scope,
    summary: `Change ${object}`,
    description: `Merge patch. ${reach.change}${describeFields(definition, shapes.get(version)!)}`,
    errors: [
      'not_found',
      ...writeErrors,
      ...uniqueErrors(definition),
      ...signInErrors(definition),
      'precondition_failed',
    ],
    parts: {
      parameters: [
        ref('parameters', 'IfMatch'),
        ref('parameters', 'IdempotencyKey'),
        ref('parameters', 'Prefer'),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': patch, 'application/merge-patch+json': patch },
      },
      responses: { ...answers, ...failing(404, 409, 412, 413, 415, 422) },
    },
  })
}

function actionPath(context: ResourceContext, action: ActionDefinition): JsonSchema {
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
    id: `${action.name}_${schema.toLowerCase()}`,
    scope: action.scope,
    summary: actionTitle(action.name, entry.definition),
    description: sentences.filter((sentence) => sentence !== undefined).join(' '),
    errors: [
      ...(from ? (['invalid_state'] as const) : []),
      'not_found',
      ...(example ? writeErrors : (['change_too_large'] as const)),
      ...signInErrors(entry.definition),
      'precondition_failed',
    ],
    parts: {
      parameters: [
        ref('parameters', 'IfMatch'),
        ref('parameters', 'IdempotencyKey'),
        ref('parameters', 'Prefer'),
      ],
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

/** Returns the parameters for sort, fields and filters, with the names of the version. */
function columnParameters(entry: CatalogEntry, version: string): JsonSchema[] {
  const { specs, chain } = entry.shapes.get(version)!
  const inVersion = (columns: readonly string[]) =>
    Object.keys(specs).filter((name) => columns.includes(chain.renamed[name] ?? name))
  const { filter, prefix, contains, search, sort } = entry.definition
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
    csv(
      'fields',
      Object.keys(specs).filter((name) => !specs[name]!.isWriteOnly),
      'The members to return.',
    ),
    ...inVersion(filter).map((name) => filterParameter(name, specs[name]!)),
    ...searchParameter(inVersion(search)),
    ...textParameters(inVersion(prefix), 'prefix', 'begins with this text'),
    ...textParameters(inVersion(contains), 'contains', 'contains this text'),
  ]
}

function searchParameter(names: readonly string[]): JsonSchema[] {
  if (names.length === 0) return []
  const fields = names.map((name) => `\`${name}\``).join(', ')
  const description =
    `Rows that have, for each word of this text, a word in ${fields} that begins with it. Case ` +
    'and accents do not count.'
  const schema = { type: 'string', minLength: 1, maxLength: SEARCH_MAX_CHARACTERS }
  return [{ name: SEARCH, in: 'query', description, schema }]
}

const textParameters = (names: readonly string[], operator: string, effect: string) =>
  names.map((name) => ({
    name: `${name}[${operator}]`,
    in: 'query',
    description: `\`${name}\` ${effect}. Case counts, except in e-mail addresses.`,
    schema: { type: 'string', minLength: 1, maxLength: TEXT_MAX_CHARACTERS },
  }))

function filterParameter(name: string, spec: FieldSpec): JsonSchema {
  const schema = withoutDefault(parameterSchema(spec))
  if (spec.kind === 'metadata') {
    const description = `A value by its key: \`${name}[key]=value\`.`
    return { name, in: 'query', description, style: 'deepObject', explode: true, schema }
  }
  const [, ...operators] = Object.keys(OPERATORS).filter(
    (operator) => operator !== 'null' || spec.nullable,
  )
  const description =
    `Also as \`${name}[op]\` with ${operators.join(', ')}. ${LIST_WORDS}` +
    (spec.visibleTo === undefined ? '' : ` Needs the scope \`${spec.visibleTo}\`.`)
  return { name, in: 'query', description, schema }
}

const withoutDefault = ({ default: _default, ...schema }: JsonSchema) => schema
