/**
 * What an OpenAPI document says of registrations and deliveries, whatever is declared (§9). Pure.
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
const maybe = { type: ['string', 'null'] }
const time = { type: 'string', format: 'date-time' }
const maybeTime = { type: ['string', 'null'], format: 'date-time' }
const url = { type: 'string', format: 'uri', maxLength: 2048 }
const asked = {
  type: 'array',
  minItems: 1,
  maxItems: 100,
  items: text,
  description: 'Types, families as `thing.*`, or `*`.',
}
const description = { type: ['string', 'null'], maxLength: 500 }
const version = { type: ['string', 'null'], description: 'Of payloads; null: the newest.' }

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: 'object',
  required,
  properties,
})

const webhook = {
  id: text,
  url,
  events: asked,
  description,
  scopes: {
    type: ['array', 'null'],
    items: text,
    description: 'Read scopes of its maker: it receives the events that they cover.',
  },
  active: { type: 'boolean' },
  disabled_reason: {
    ...maybe,
    description: 'Why the service switched it off: `failing`, `gone`, `creator_removed`.',
  },
  api_version: text,
  created_at: time,
  updated_at: time,
}
const secret = { type: 'string', description: '`whsec_` + base64; in this answer only.' }

const replayProgress = {
  ...object({
    kind: { type: 'string', enum: ['replay', 'recover'] },
    state: { type: 'string', enum: ['running', 'finished', 'stopped'], 'x-open-set': true },
    count: { type: 'integer', minimum: 0 },
    done: { type: 'integer', minimum: 0 },
    since: time,
    started_at: time,
    ended_at: maybeTime,
  }),
  type: ['object', 'null'],
  description: 'The newest replay or recovery, and how far it is; null: there was none.',
}

const attempt = object({
  n: { type: 'integer', minimum: 1 },
  at: time,
  status: { type: ['integer', 'null'] },
  duration_ms: { type: 'integer' },
  error: maybe,
  response_headers: { type: ['object', 'null'], additionalProperties: text },
  response_body: { ...maybe, description: 'Null in lists: read one delivery for its bodies.' },
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
    next_attempt_at: maybeTime,
    created_at: time,
    attempts: { type: 'array', items: attempt },
  }),
  DeliveryList: listSchema(ref('schemas', 'Delivery')),
}

const repeated = ref('parameters', 'IdempotencyKey')
const ifMatch = ref('parameters', 'IfMatch')
const id = idParameter('string')
const body = (schema: JsonSchema, required = true) => ({
  requestBody: { required, content: content(schema) },
})
const many = Object.keys(listParameters)
  .filter((name) => name !== 'AfterId')
  .map((name) => ref('parameters', name))

const reading = (operationId: string, summary: string, more: JsonSchema): JsonSchema => ({
  tags: ['webhooks'],
  'x-scope': 'webhooks:read',
  operationId,
  summary,
  ...more,
})
const writing = (operationId: string, summary: string, more: JsonSchema): JsonSchema => ({
  ...reading(operationId, summary, more),
  'x-scope': 'webhooks:write',
})

const since = { type: 'string', description: 'An instant, or a date.' }
const count = object({ count: { type: 'integer', minimum: 0 } })
const shown = answer(200, 'The registration.', ref('schemas', 'Webhook'))

const registrations: Record<string, JsonSchema> = {
  '/webhooks': {
    get: reading('list_webhooks', 'List registrations', {
      parameters: many,
      responses: { ...answer(200, 'A page.', ref('schemas', 'WebhookList')), ...failing() },
    }),
    post: writing('create_webhook', 'Register a URL, verified by a ping', {
      parameters: [repeated],
      ...body(object({ url, events: asked, description, api_version: version }, ['url', 'events'])),
      responses: {
        ...answer(201, 'The registration with its secret.', ref('schemas', 'NewWebhook')),
        ...failing(409, 413, 415, 422),
      },
    }),
  },
  '/webhooks/{id}': {
    get: reading('get_webhook', 'Read a registration', {
      parameters: [id],
      responses: { ...shown, ...failing(404) },
    }),
    patch: writing('update_webhook', 'Change a registration; a new URL is verified', {
      parameters: [id, repeated, ifMatch],
      ...body(
        object(
          { url, events: asked, description, active: webhook.active, api_version: version },
          [],
        ),
      ),
      responses: { ...shown, ...failing(404, 409, 412, 413, 415, 422) },
    }),
    delete: writing('delete_webhook', 'End a registration', {
      parameters: [id, ifMatch],
      responses: { ...answer(204, 'It is gone.'), ...failing(404, 412) },
    }),
  },
  '/webhooks/{id}/test': {
    post: writing('test_webhook', 'Send a sample event, now', {
      parameters: [id, repeated],
      ...body(object({ event_type: text })),
      responses: {
        ...answer(
          200,
          'What became of it.',
          object({
            event_id: text,
            delivery_id: text,
            delivered: { type: 'boolean' },
            response_status: { type: ['integer', 'null'] },
            duration_ms: { type: 'integer' },
            error: maybe,
          }),
        ),
        ...failing(404, 409, 413, 415, 422),
      },
    }),
  },
  '/webhooks/{id}/rotate-secret': {
    post: writing('rotate_webhook_secret', 'Make a new secret; the old ones overlap', {
      parameters: [id, repeated],
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

const again = (operationId: string, summary: string, wish: JsonSchema): JsonSchema =>
  writing(operationId, summary, {
    parameters: [id, repeated],
    ...body(wish),
    responses: { ...answer(202, 'How many.', count), ...failing(404, 409, 413, 415, 422) },
  })

const delivery = ref('schemas', 'Delivery')

const deliveries: Record<string, JsonSchema> = {
  '/webhooks/{id}/deliveries': {
    get: reading('list_deliveries', 'List what was sent and what waits', {
      parameters: [id, ...many],
      responses: { ...answer(200, 'A page.', ref('schemas', 'DeliveryList')), ...failing(404) },
    }),
  },
  '/webhooks/{id}/recover': {
    post: again(
      'recover_webhook',
      'Send all that failed since, again, in the background',
      object({ since }),
    ),
  },
  '/webhooks/{id}/replay': {
    post: again(
      'replay_webhook',
      'Send all that happened since, again, in the background',
      object({ since, event_types: asked }, ['since']),
    ),
    delete: writing('stop_webhook_replay', 'Stop the replay or recovery that runs', {
      parameters: [id],
      responses: { ...answer(204, 'None runs any more.'), ...failing(404) },
    }),
  },
  '/deliveries/{id}': {
    get: reading('get_delivery', 'Read a delivery', {
      parameters: [id],
      responses: { ...answer(200, 'The delivery.', delivery), ...failing(404) },
    }),
  },
  '/deliveries/{id}/resend': {
    post: writing('resend_delivery', 'Send a delivery again', {
      parameters: [id, repeated],
      ...body({ type: 'object' }, false),
      responses: { ...answer(202, 'The delivery.', delivery), ...failing(404, 409, 413, 415, 422) },
    }),
  },
}

export const webhookPaths: Readonly<Record<string, JsonSchema>> = {
  ...registrations,
  ...deliveries,
}
