/**
 * The operations and schemas of registrations and deliveries in every OpenAPI document (§9). Pure.
 */
import {
  answer,
  content,
  failing,
  idParameter,
  listParameters,
  listSchema,
  ref,
} from './openapi-parts.ts'
import type { JsonSchema } from './schema.ts'

const text = { type: 'string' }
const nullableText = { type: ['string', 'null'] }
const time = { type: 'string', format: 'date-time' }
const nullableTime = { type: ['string', 'null'], format: 'date-time' }
const url = { type: 'string', format: 'uri', maxLength: 2048 }
const eventTypes = {
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: text,
  description: 'Types, families as `thing.*`, or `*`.',
}
const description = { type: ['string', 'null'], maxLength: 500 }
const version = {
  type: ['string', 'null'],
  description: 'The version of payloads; null: the newest.',
}

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
})

const webhook = {
  id: text,
  url,
  events: eventTypes,
  description,
  scopes: {
    type: ['array', 'null'],
    items: text,
    description: 'The read scopes of its creator: it receives the events that they cover.',
  },
  active: { type: 'boolean' },
  disabled_reason: {
    ...nullableText,
    description: 'Why the service disabled it: `failing`, `gone`, `creator_removed`.',
  },
  api_version: text,
  created_at: time,
  updated_at: time,
}
const secret = { type: 'string', description: '`whsec_` + base64; in this response only.' }

const replayProgress = {
  ...object({
    kind: { type: 'string', enum: ['replay', 'recover'] },
    state: { type: 'string', enum: ['running', 'finished', 'stopped'], 'x-open-set': true },
    count: { type: 'integer', minimum: 0 },
    done: { type: 'integer', minimum: 0 },
    since: time,
    started_at: time,
    ended_at: nullableTime,
  }),
  type: ['object', 'null'],
  description: 'The progress of the newest replay or recovery; null if there was none.',
}

const attempt = object({
  n: { type: 'integer', minimum: 1 },
  at: time,
  status: { type: ['integer', 'null'] },
  duration_ms: { type: 'integer' },
  error: nullableText,
  response_headers: { type: ['object', 'null'], additionalProperties: text },
  response_body: { ...nullableText, description: 'Null in lists; `GET /deliveries/{id}` has it.' },
})

export const webhookSchemas: Readonly<Record<string, JsonSchema>> = {
  Webhook: object({ ...webhook, replay: replayProgress }),
  NewWebhook: object({ ...webhook, replay: replayProgress, secret }),
  WebhookItem: object(webhook),
  WebhookList: listSchema(ref('schemas', 'WebhookItem')),
  Delivery: object({
    id: text,
    event_id: text,
    event_type: text,
    webhook_id: text,
    state: {
      type: 'string',
      enum: ['pending', 'delivered', 'failed', 'exhausted', 'paused'],
      'x-open-set': true,
    },
    next_attempt_at: nullableTime,
    created_at: time,
    attempts: { type: 'array', items: attempt },
  }),
  DeliveryList: listSchema(ref('schemas', 'Delivery')),
}

const idempotencyKey = ref('parameters', 'IdempotencyKey')
const ifMatch = ref('parameters', 'IfMatch')
const id = idParameter('string')
const body = (schema: JsonSchema, required = true) => ({
  requestBody: { required, content: content(schema) },
})
const pageParameters = Object.keys(listParameters)
  .filter((name) => name !== 'AfterId')
  .map((name) => ref('parameters', name))

const readOperation = (operationId: string, summary: string, more: JsonSchema): JsonSchema => ({
  tags: ['webhooks'],
  'x-scope': 'webhooks:read',
  operationId,
  summary,
  ...more,
})
const writeOperation = (operationId: string, summary: string, more: JsonSchema): JsonSchema => ({
  ...readOperation(operationId, summary, more),
  'x-scope': 'webhooks:write',
})

const since = { type: 'string', description: 'An instant, or a date.' }
const count = object({ count: { type: 'integer', minimum: 0 } })
const registration = answer(200, 'The registration.', ref('schemas', 'Webhook'))

const registrations: Record<string, JsonSchema> = {
  '/webhooks': {
    get: readOperation('list_webhooks', 'List registrations', {
      parameters: pageParameters,
      responses: { ...answer(200, 'A page.', ref('schemas', 'WebhookList')), ...failing() },
    }),
    post: writeOperation('create_webhook', 'Register a URL, verified by a ping', {
      parameters: [idempotencyKey],
      ...body(
        object({ url, events: eventTypes, description, api_version: version }, ['url', 'events']),
      ),
      responses: {
        ...answer(201, 'The registration with its secret.', ref('schemas', 'NewWebhook')),
        ...failing(409, 413, 415, 422),
      },
    }),
  },
  '/webhooks/{id}': {
    get: readOperation('get_webhook', 'Read a registration', {
      parameters: [id],
      responses: { ...registration, ...failing(404) },
    }),
    patch: writeOperation('update_webhook', 'Change a registration; a new URL is verified', {
      parameters: [id, idempotencyKey, ifMatch],
      ...body(
        object(
          { url, events: eventTypes, description, active: webhook.active, api_version: version },
          [],
        ),
      ),
      responses: { ...registration, ...failing(404, 409, 412, 413, 415, 422) },
    }),
    delete: writeOperation('delete_webhook', 'Delete a registration', {
      parameters: [id, ifMatch],
      responses: { ...answer(204, 'Deleted.'), ...failing(404, 412) },
    }),
  },
  '/webhooks/{id}/test': {
    post: writeOperation('test_webhook', 'Send a sample event at once', {
      parameters: [id, idempotencyKey],
      ...body(object({ event_type: text })),
      responses: {
        ...answer(
          200,
          'The result.',
          object({
            event_id: text,
            delivery_id: text,
            delivered: { type: 'boolean' },
            response_status: { type: ['integer', 'null'] },
            duration_ms: { type: 'integer' },
            error: nullableText,
          }),
        ),
        ...failing(404, 409, 413, 415, 422),
      },
    }),
  },
  '/webhooks/{id}/rotate-secret': {
    post: writeOperation('rotate_webhook_secret', 'Generate a new secret; the old ones overlap', {
      parameters: [id, idempotencyKey],
      ...body(
        object(
          {
            overlap_seconds: { type: 'integer', minimum: 0, maximum: 604_800 },
            force: { type: 'boolean' },
          },
          [],
        ),
        false,
      ),
      responses: {
        ...answer(200, 'The registration with its new secret.', ref('schemas', 'NewWebhook')),
        ...failing(404, 409, 413, 415, 422),
      },
    }),
  },
}

const resendOperation = (operationId: string, summary: string, input: JsonSchema): JsonSchema =>
  writeOperation(operationId, summary, {
    parameters: [id, idempotencyKey],
    ...body(input),
    responses: {
      ...answer(202, 'The number of deliveries.', count),
      ...failing(404, 409, 413, 415, 422),
    },
  })

const delivery = ref('schemas', 'Delivery')

const deliveries: Record<string, JsonSchema> = {
  '/webhooks/{id}/deliveries': {
    get: readOperation('list_deliveries', 'List deliveries', {
      parameters: [id, ...pageParameters],
      responses: { ...answer(200, 'A page.', ref('schemas', 'DeliveryList')), ...failing(404) },
    }),
  },
  '/webhooks/{id}/recover': {
    post: resendOperation(
      'recover_webhook',
      'Resend all failed deliveries since an instant, in the background',
      object({ since }),
    ),
  },
  '/webhooks/{id}/replay': {
    post: resendOperation(
      'replay_webhook',
      'Send all events since an instant, in the background',
      object({ since, event_types: eventTypes }, ['since']),
    ),
    delete: writeOperation('stop_webhook_replay', 'Stop the current replay or recovery', {
      parameters: [id],
      responses: { ...answer(204, 'None is running.'), ...failing(404) },
    }),
  },
  '/deliveries/{id}': {
    get: readOperation('get_delivery', 'Read a delivery', {
      parameters: [id],
      responses: { ...answer(200, 'The delivery.', delivery), ...failing(404) },
    }),
  },
  '/deliveries/{id}/resend': {
    post: writeOperation('resend_delivery', 'Resend a delivery', {
      parameters: [id, idempotencyKey],
      ...body({ type: 'object' }, false),
      responses: { ...answer(202, 'The delivery.', delivery), ...failing(404, 409, 413, 415, 422) },
    }),
  },
}

export const webhookPaths: Readonly<Record<string, JsonSchema>> = {
  ...registrations,
  ...deliveries,
}
