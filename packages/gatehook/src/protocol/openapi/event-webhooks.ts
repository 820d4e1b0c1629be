/** The `webhooks` of an OpenAPI document: each event type with its payload (§9.5, §9.11). Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'

/** An event type for a document. */
export interface DocumentEvent {
  readonly type: string
  /** The scope that reads it; undefined for public rows. */
  readonly scope: string | undefined
  /** The schema of its object: a reference to that of a resource, or any object. */
  readonly schema: JsonSchema
  readonly object: unknown
}

const CREATED_S = 1_780_306_200

const signatureHeader = (name: string, description: string, example: string): JsonSchema => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', examples: [example] },
})

/**
 * The headers that a receiver verifies (§9.5). They are inline: tools that write servers do not
 * find components that only `webhooks` use.
 */
const parameters: readonly JsonSchema[] = [
  signatureHeader(
    'Gatehook-Signature',
    'The time of the attempt, and the HMAC-SHA-256 of time, a dot and the body, by each secret.',
    't=1780306200,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
  ),
  signatureHeader('Gatehook-Event', 'The type of the event.', 'webhook.ping'),
  signatureHeader('Gatehook-Delivery', 'The id of the delivery.', 'dlv_7Hq2Xc'),
  signatureHeader(
    'webhook-id',
    'The id of the event, the same on every attempt (Standard Webhooks).',
    'evt_01JWM4Q2',
  ),
]

/** A group of their own: tools write one class for each tag, of paths and webhooks alike. */
export const WEBHOOKS_TAG = {
  name: 'webhook-requests',
  description: 'The requests that the service sends to receivers.',
}

const payloadSchema = ({ type, schema }: DocumentEvent): JsonSchema => ({
  type: 'object',
  description: `The event \`${type}\`.`,
  required: ['id', 'type', 'created', 'livemode', 'data'],
  properties: {
    id: { type: 'string', description: 'The id of the event.', examples: ['evt_01JWM4Q2'] },
    type: { type: 'string', const: type, description: 'The type of the event.' },
    created: {
      type: 'integer',
      minimum: 0,
      description: 'When it was recorded, in Unix seconds.',
      examples: [CREATED_S],
    },
    livemode: {
      type: 'boolean',
      description: 'Whether it concerns live data.',
      examples: [false],
    },
    data: {
      type: 'object',
      description: 'The data of the event.',
      required: ['object'],
      properties: { object: schema },
    },
  },
})

/** Returns one webhook per event type. */
export const eventWebhooks = (events: readonly DocumentEvent[]): Record<string, JsonSchema> =>
  Object.fromEntries(
    events.map((event) => {
      const { type, scope, object } = event
      const example = {
        id: 'evt_01JWM4Q2',
        type,
        created: CREATED_S,
        livemode: false,
        data: { object },
      }
      const reader = scope === undefined ? '' : ` Its registration needs the scope \`${scope}\`.`
      const post = {
        tags: [WEBHOOKS_TAG.name],
        operationId: `on_${type.replace(/\W+/g, '_')}`,
        summary: `Receive ${type}`,
        description: `The service sends this event as a signed POST.${reader}`,
        security: [],
        parameters: structuredClone(parameters),
        requestBody: {
          required: true,
          description: 'The event.',
          content: { 'application/json': { schema: payloadSchema(event), example } },
        },
        responses: {
          '200': { description: 'Received. Any other 2xx has the same meaning.' },
          '410': { description: 'The receiver is deleted: the service disables the registration.' },
          default: { description: 'Not received: the service retries.' },
        },
      }
      return [type, { post }]
    }),
  )
