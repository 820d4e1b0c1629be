/** The operations on registrations and deliveries (§9.1 to §9.4, §9.10, §9.14). */

import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { FINAL_STATUS } from '../transport/attempt.ts'
import { delivery } from './delivery-log.ts'
import {
  type RegistrationInputs,
  type RegistrationRules,
  registrationInputs,
  webhookItem,
  webhookWith,
} from './registration.ts'

const replayProgress = b
  .object({
    kind: b.oneOf(['replay', 'recover']),
    state: b.openSet(['running', 'finished', 'stopped']),
    count: b.int(0),
    done: b.int(0),
    since: b.time(),
    started_at: b.time(),
    ended_at: b.time().nullable().example(null),
  })
  .nullable()
  .describe('The progress of the newest replay or recovery; null if there was none.')
  .example(null)

const webhook = webhookWith({ replay: replayProgress }).named('Webhook')
const newWebhook = webhookWith({
  replay: replayProgress,
  secret: b
    .text()
    .describe('`whsec_` + base64; in this response only.')
    .example('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
}).named('WebhookWithSecret')

const sentRequest = b
  .object({
    delivery_id: b.text().example('dlv_01jdq8w9vgk7'),
    url: b
      .text({ format: 'uri' })
      .describe('The URL of the newest attempt; without one, that of the registration.')
      .example('https://example.com/hooks'),
    body: b
      .text()
      .nullable()
      .describe('The same for every attempt; null if the event was purged.')
      .example('{"id":"evt_01jdq8w9vgk7","type":"ping"}'),
    attempts: b
      .list(
        b.object({
          n: b.int(1).describe('The number of the attempt.').example(1),
          at: b.time(),
          url: b.text({ format: 'uri' }).describe('The URL that the attempt called.'),
          headers: b
            .map(b.text())
            .nullable()
            .describe(
              'With all signatures; without them if the body was purged or a secret deleted, and ' +
                'null for attempts before the newest 20.',
            )
            .example({ 'Gatehook-Event': 'ping' }),
        }),
      )
      .describe('Oldest first.'),
  })
  .named('SentRequest')

const testResult = b.object({
  event_id: b.text().example('evt_01jdq8w9vgk7'),
  delivery_id: b.text().example('dlv_01jdq8w9vgk7'),
  delivered: b.bool(),
  response_status: b.int(FINAL_STATUS.min, FINAL_STATUS.max).nullable().example(200),
  duration_ms: b.int(0).example(120),
  error: b.text().nullable().example(null),
})

const count = b.object({ count: b.int(0) })
const tag = 'webhooks'
const receiverErrors = ['url_not_allowed', 'url_unreachable', 'rate_limited'] as const

const deliveryOperations = ({ recovery, replay }: RegistrationInputs) => ({
  deliveries: operation('GET /webhooks/:id/deliveries', {
    id: 'list_deliveries',
    summary: 'List deliveries',
    output: b.page(delivery),
  }),
  recover: operation('POST /webhooks/:id/recover', {
    id: 'recover_webhook',
    summary: 'Resend all failed deliveries since an instant, in the background',
    input: recovery,
    headers: ['Idempotency-Key'],
    output: count,
    status: 202,
    returns: 'The number of deliveries.',
    errors: ['replay_in_progress'],
  }),
  replay: operation('POST /webhooks/:id/replay', {
    id: 'replay_webhook',
    summary: 'Send all events since an instant, in the background',
    input: replay,
    headers: ['Idempotency-Key'],
    output: count,
    status: 202,
    returns: 'The number of deliveries.',
    errors: ['insufficient_scope', 'replay_in_progress'],
  }),
  stopReplay: operation('DELETE /webhooks/:id/replay', {
    id: 'stop_webhook_replay',
    tag,
    summary: 'Stop the current replay or recovery',
    returns: 'None is running.',
  }),
  readDelivery: operation('GET /deliveries/:id', {
    id: 'get_delivery',
    tag,
    summary: 'Read a delivery',
    output: delivery,
    returns: 'The delivery.',
  }),
  readRequest: operation('GET /deliveries/:id/request', {
    id: 'get_delivery_request',
    tag,
    summary: 'Read the request of a delivery as it was sent',
    output: sentRequest,
    returns: 'The request.',
  }),
  resend: operation('POST /deliveries/:id/resend', {
    id: 'resend_delivery',
    tag,
    summary: 'Resend a delivery',
    input: {},
    body: 'optional',
    headers: ['Idempotency-Key'],
    output: delivery,
    status: 202,
    returns: 'The delivery.',
    errors: ['invalid_state'],
  }),
})

export function webhookOperations(rules: RegistrationRules) {
  const inputs = registrationInputs(rules)
  const { creation, patch, test, rotation } = inputs
  return {
    list: operation('GET /webhooks', {
      id: 'list_webhooks',
      summary: 'List registrations',
      output: b.page(webhookItem).named('WebhookList'),
    }),
    create: operation('POST /webhooks', {
      id: 'create_webhook',
      summary: 'Register a URL, verified by a ping',
      mcp: false,
      input: creation,
      headers: ['Idempotency-Key'],
      output: newWebhook,
      status: 201,
      returns: 'The registration with its secret.',
      location: '/webhooks/{id}',
      isSecret: true,
      errors: ['insufficient_scope', 'invalid_state', 'limit_reached', ...receiverErrors],
    }),
    read: operation('GET /webhooks/:id', {
      id: 'get_webhook',
      summary: 'Read a registration',
      output: webhook,
      returns: 'The registration.',
    }),
    update: operation('PATCH /webhooks/:id', {
      id: 'update_webhook',
      summary: 'Change a registration; a new URL is verified',
      mcp: false,
      input: patch,
      headers: ['Idempotency-Key', 'If-Match'],
      output: webhook,
      returns: 'The registration.',
      errors: ['insufficient_scope', 'forbidden', 'conflict', 'invalid_state', ...receiverErrors],
    }),
    remove: operation('DELETE /webhooks/:id', {
      id: 'delete_webhook',
      summary: 'Delete a registration',
      headers: ['If-Match'],
      returns: 'Deleted.',
    }),
    test: operation('POST /webhooks/:id/test', {
      id: 'test_webhook',
      summary: 'Send a sample event at once',
      input: test,
      headers: ['Idempotency-Key'],
      output: testResult,
      returns: 'The result.',
      errors: ['insufficient_scope', 'invalid_state', 'rate_limited'],
    }),
    rotateSecret: operation('POST /webhooks/:id/rotate-secret', {
      id: 'rotate_webhook_secret',
      summary: 'Generate a new secret; the old ones overlap',
      input: rotation,
      body: 'optional',
      headers: ['Idempotency-Key'],
      output: newWebhook,
      returns: 'The registration with its new secret.',
      isSecret: true,
      errors: ['insufficient_scope', 'rotation_in_progress'],
    }),
    ...deliveryOperations(inputs),
  }
}
