/** Deleted rows in OpenAPI documents: the parameter that lists them, and `restore`. Pure. */
import type { JsonSchema } from '../../protocol/fields/json-schema.ts'
import { answer, changeParameters, failing, ref } from '../../protocol/openapi/parts.ts'
import { describeOperation, type ResourceContext, rowIdParameter } from './openapi-context.ts'
import { operationOn } from './openapi-words.ts'
import type { ResourceDefinition } from './resource.ts'
import { DELETED_PARAMETER } from './soft-deletion.ts'

export function deletedParameters({ softDeletion }: ResourceDefinition): JsonSchema[] {
  if (!softDeletion) return []
  const description = `True: the deleted rows. Requires the scope \`${softDeletion.scope}\`.`
  const schema = { type: 'boolean', default: false }
  return [{ name: DELETED_PARAMETER, in: 'query', description, schema }]
}

export function restorePath(context: ResourceContext, path: string): Record<string, JsonSchema> {
  const { entry, schema, object, reach, row } = context
  const { softDeletion } = entry.definition
  if (!softDeletion) return {}
  const post = describeOperation(context, {
    id: operationOn('restore', entry.definition),
    scope: softDeletion.scope,
    summary: `Restore ${object}`,
    description: `Possible until the row is purged. ${reach.change}`,
    operation: 'restore',
    errors: [
      'invalid_json',
      'invalid_state',
      'not_found',
      'validation_failed',
      'precondition_failed',
      'change_too_large',
    ],
    parts: {
      parameters: changeParameters,
      responses: {
        ...answer(200, 'The row.', ref('schemas', schema), row),
        ...failing(404, 409, 412, 413, 415, 422),
      },
    },
  })
  return { [path]: { parameters: [rowIdParameter(context)], post } }
}
