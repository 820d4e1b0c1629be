/** `POST …/batch` in OpenAPI documents. Pure. */
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { answer, ref, writeErrors } from '../../protocol/openapi/parts.ts'
import { BATCH_ITEMS_MAX } from './batch.ts'
import {
  bodyOf,
  describeOperation,
  failedCreation,
  type ResourceContext,
  ruleErrors,
  uniqueErrors,
} from './openapi-context.ts'
import { operationOnAll } from './openapi-words.ts'
import type { ResourceDefinition } from './resource.ts'
import { SAMPLE_NUMBER, sampleCreate } from './sample.ts'

export function batchSchemas(
  { name }: ResourceDefinition,
  schema: string,
): Record<string, JsonSchema> {
  const index = { type: 'integer', minimum: 0, maximum: BATCH_ITEMS_MAX - 1 }
  const row = ref('schemas', schema)
  return {
    [`${schema}Batch`]: {
      description: `The body that creates several ${name}.`,
      type: 'object',
      additionalProperties: false,
      required: ['items'],
      properties: {
        items: {
          type: 'array',
          minItems: 1,
          maxItems: BATCH_ITEMS_MAX,
          items: ref('schemas', `${schema}Create`),
        },
        atomic: {
          description: 'False: each item succeeds or fails on its own.',
          type: 'boolean',
          default: true,
        },
      },
    },
    [`${schema}BatchResult`]: {
      description: 'The results, in the order of the items.',
      type: 'object',
      required: ['items'],
      properties: {
        items: {
          type: 'array',
          items: {
            type: 'object',
            required: ['index', 'status', 'body'],
            properties: {
              index,
              status: { description: '201, or the status of the failure.', type: 'integer' },
              body: {
                oneOf: [
                  { title: 'row', ...row },
                  { title: 'error', ...ref('schemas', 'ErrorBody') },
                ],
              },
            },
          },
        },
      },
    },
  }
}

export function batchPath(context: ResourceContext, scope: string): JsonSchema {
  const { entry, version, schema, reach, row } = context
  const { definition, shapes } = entry
  const { name } = definition
  // Not the row of a single creation: a service accepts both examples.
  const item = sampleCreate(definition, shapes.get(version)!, SAMPLE_NUMBER + 1)
  const example = { items: [item], atomic: true }
  const result = { items: [{ index: 0, status: 201, body: row }] }
  const post = describeOperation(context, {
    id: `${operationOnAll('create', definition)}_in_batch`,
    scope,
    summary: `Create several ${name}`,
    description:
      `Creates up to ${BATCH_ITEMS_MAX} rows in one transaction. A failure rejects all of them; ` +
      'with `atomic: false` each item has its own status. Pointers refer to the body: ' +
      `\`/items/3/name\`. For the request limit each item counts as a request, so that a batch ` +
      `beyond it is 429 and creates nothing. ${reach.create}`,
    errors: [...writeErrors, ...uniqueErrors(definition), ...ruleErrors(definition)],
    operation: 'create',
    parts: {
      parameters: [ref('parameters', 'IdempotencyKey'), ref('parameters', 'Prefer')],
      requestBody: bodyOf(`${schema}Batch`, example, true),
      responses: {
        ...answer(200, 'The results.', ref('schemas', `${schema}BatchResult`), result),
        ...failedCreation(definition),
      },
    },
  })
  return { post }
}
