/**
 * The operations of the engine in every OpenAPI document: events, and the credential probe. Pure.
 */
import { answer, content, failing, idParameter, listParameters, ref } from './openapi-parts.ts'
import type { JsonSchema } from './schema.ts'
import { externalEventTypes, type ServiceDefinition } from './service.ts'

export const protectedOperation: JsonSchema = {
  tags: ['credentials'],
  operationId: 'probe_credential',
  summary: 'Validate a credential',
  responses: {
    ...answer(200, 'The credential is valid.', {
      type: 'object',
      required: ['status', 'user'],
      properties: { status: { type: 'string', const: 'ok' }, user: { type: 'string' } },
    }),
    ...failing(),
  },
}

const eventListOperation: JsonSchema = {
  tags: ['events'],
  'x-scope': 'events:read',
  operationId: 'list_events',
  summary: 'List events',
  parameters: Object.keys(listParameters)
    .filter((name) => name !== 'AfterId')
    .map((name) => ref('parameters', name)),
  responses: { ...answer(200, 'A page.', ref('schemas', 'EventList')), ...failing() },
}

const eventOperation: JsonSchema = {
  tags: ['events'],
  'x-scope': 'events:read',
  operationId: 'get_event',
  summary: 'Read one event',
  parameters: [idParameter('string')],
  responses: { ...answer(200, 'The event.', ref('schemas', 'Event')), ...failing(404) },
}

/** `POST /events` accepts the declared external types, or any type without them (§9.11). */
const postEventOperation = (external: readonly string[]): JsonSchema => ({
  tags: ['events'],
  'x-scope': 'events:write',
  operationId: 'post_event',
  summary: 'Record an event of another backend',
  parameters: [ref('parameters', 'IdempotencyKey')],
  requestBody: {
    required: true,
    content: content({
      type: 'object',
      required: ['type', 'object'],
      properties: {
        type: external.length > 0 ? { type: 'string', enum: external } : { type: 'string' },
        object: { type: 'object' },
      },
    }),
  },
  responses: {
    ...answer(201, 'The event.', ref('schemas', 'Event')),
    ...failing(409, 413, 415, 422),
  },
})

const eventStreamOperation: JsonSchema = {
  tags: ['events'],
  'x-scope': 'events:read',
  operationId: 'stream_events',
  summary: 'Stream new events as server-sent events',
  parameters: [
    {
      name: 'types',
      in: 'query',
      description: 'Types, or families as `thing.*`, separated by commas.',
      schema: { type: 'string' },
    },
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'Resumes after the event with this id.',
      schema: { type: 'string' },
    },
  ],
  responses: {
    200: {
      description: 'One message per event: its id, and the event as JSON.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...failing(),
  },
}

export const enginePaths = (service: ServiceDefinition): Readonly<Record<string, JsonSchema>> => ({
  '/events': { get: eventListOperation, post: postEventOperation(externalEventTypes(service)) },
  '/events/stream': { get: eventStreamOperation },
  '/events/{id}': { get: eventOperation },
})
