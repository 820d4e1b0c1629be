/**
 * The operations an OpenAPI document has whatever is declared: events, and the try of a
 * credential. Pure.
 */
import { answer, failing, idParameter, listParameters, ref } from './openapi-parts.ts'
import type { JsonSchema } from './schema.ts'

export const protectedOperation: JsonSchema = {
  tags: ['credentials'],
  operationId: 'probe_credential',
  summary: 'Try a credential',
  responses: {
    ...answer(200, 'The credential is good.', {
      type: 'object',
      required: ['status', 'user'],
      properties: { status: { type: 'string', const: 'ok' }, user: { type: 'string' } },
    }),
    ...failing(),
  },
}

export const eventListOperation: JsonSchema = {
  tags: ['events'],
  'x-scope': 'events:read',
  operationId: 'list_events',
  summary: 'List events',
  parameters: Object.keys(listParameters)
    .filter((name) => name !== 'AfterId')
    .map((name) => ref('parameters', name)),
  responses: { ...answer(200, 'A page.', ref('schemas', 'EventList')), ...failing() },
}

export const eventOperation: JsonSchema = {
  tags: ['events'],
  'x-scope': 'events:read',
  operationId: 'get_event',
  summary: 'Read one event',
  parameters: [idParameter('string')],
  responses: { ...answer(200, 'The event.', ref('schemas', 'Event')), ...failing(404) },
}
