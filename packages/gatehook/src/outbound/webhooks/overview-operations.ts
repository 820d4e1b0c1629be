/** The operations of `/admin/webhooks` and `/admin/deliveries` (§13). */
import { customerMembers, SELECTION } from '../../identity/access/across-customers.ts'
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { DELIVERY_STATES } from '../deliveries/delivery.ts'
import { HEALTH_STATES, OUTCOME_MARKS } from '../deliveries/outcome-summary.ts'
import { anyDeliveryMembers, attemptMembers } from './delivery-log.ts'
import { webhookWith } from './registration.ts'
import { TIME_RANGE } from './time-range.ts'

const state = b
  .oneOf(HEALTH_STATES)
  .describe(
    '`failing`: 70 % of the last 20 attempts failed, and the last one; `slow`: 70 % took 2 s or ' +
      'more, or failed; `some_fail`: one of the last 60; `new`: no attempt; `off`: inactive.',
  )
const last60 = b
  .text()
  .example('ooowsx')
  .describe(
    'The last 60 attempts, oldest first: `o` accepted, `w` accepted at a retry, `s` accepted ' +
      'after 2 s or more, `x` failed.',
  )
/** The tone of a health. */
export const HEALTH_TONES = {
  failing: ['bad'],
  slow: ['warn'],
  some_fail: ['warn'],
  healthy: ['ok'],
  new: ['idle'],
  off: ['hold', 'disabled'],
} as const

const healthMembers = {
  state,
  accepted_24h: b
    .number()
    .nullable()
    .describe('The share of the attempts of 24 hours; null: none.'),
  attempts_24h: b.int(0),
  waiting: b.int(0).describe('Waiting deliveries, at most 1,000, and 10,000 for one endpoint.'),
  oldest_waiting_at: b.time().nullable().describe('Of the 100 deliveries that are due first.'),
  last60,
}

export const endpointHealth = b.object(healthMembers).named('EndpointHealth')

/** A registration as operators read it. */
export const endpoint = webhookWith({
  ...customerMembers,
  health: endpointHealth,
})
  .named('Endpoint')
  .columns({
    state: { states: [['health.state', HEALTH_TONES]] },
    url: { title: 'endpoint', isWide: true },
    customer_name: { title: 'customer' },
    'health.waiting': {},
    'health.accepted_24h': { title: 'accepted, 24 h', as: 'percent' },
    'health.last60': { title: 'last 60 attempts' },
    events: {},
    api_version: { title: 'version', as: 'code' },
  })

const mark = b.oneOf(OUTCOME_MARKS)
const endpointReport = b
  .object({
    ...healthMembers,
    cause: b.text().nullable().describe('The last error, or why the endpoint is off.'),
    since: b.time().nullable().describe('The first failure since the last success.'),
    off_at: b.time().nullable().describe('When the endpoint is disabled if failures continue.'),
    hold_until: b.time().nullable().describe('The end of a hold by `Retry-After`.'),
    breaker: b.object({
      state: b.oneOf(['closed', 'open', 'probing']),
      until: b.time().nullable(),
    }),
    in_flight: b.int(0).describe('As of the last result.'),
    p95_ms: b.int(0).nullable(),
    attempts: b.list(
      b.object({
        delivery_id: b.text(),
        n: b.int(1),
        at: b.time(),
        status: attemptMembers.status,
        error: attemptMembers.error,
        took_ms: b.int(0),
        outcome: mark,
      }),
    ),
    secrets: b.list(
      b.object({
        hint: b.text().nullable().example('whsec_…Qf0='),
        created_at: b.time(),
        signs_until: b.time().nullable().describe('Null: until it is rotated.'),
      }),
    ),
    failed_since: b.object({
      at: b.time().nullable(),
      count: b.int(0).describe('Failed and exhausted deliveries, at most 10,000.'),
    }),
    rules: b.object({
      schedule_s: b.list(b.int(0)),
      timeout_ms: b.int(1),
      rate: b.object({ limit: b.int(1), window_s: b.int(1) }).nullable(),
    }),
  })
  .named('EndpointReport')

/** A delivery as operators read it in lists. */
export const listedDelivery = b
  .object({
    ...anyDeliveryMembers,
    attempts: b.list(b.object(attemptMembers)),
    ...customerMembers,
  })
  .named('ListedDelivery')

export const overviewOperations = {
  listEndpoints: operation('GET /admin/webhooks', {
    id: 'list_endpoints',
    summary: 'List the webhooks of all customers with the health of their endpoints',
    tag: 'webhooks',
    description: '`sort=-health` lists the worst first.',
    query: {
      ...SELECTION,
      state: state.optional(),
      event: b.line(200).optional().describe('An event type that the endpoint receives.'),
      version: b.line(20).optional().describe('The version that the endpoint is pinned to.'),
    },
    output: b.page(endpoint),
  }),
  readEndpoint: operation('GET /admin/webhooks/:id', {
    id: 'read_endpoint',
    summary: 'Read a webhook of any customer',
    tag: 'webhooks',
    output: endpoint,
  }),
  reportEndpoint: operation('GET /admin/webhooks/:id/health', {
    id: 'read_endpoint_health',
    summary: 'Read why an endpoint is in its state, with its last attempts',
    tag: 'webhooks',
    query: { attempts: b.int(1, 120).optional().describe('Default 120.') },
    output: endpointReport,
  }),
  listDeliveries: operation('GET /admin/deliveries', {
    id: 'list_all_deliveries',
    summary: 'List the deliveries of all customers',
    tag: 'webhooks',
    query: {
      ...SELECTION,
      webhook: b.line(100).optional().describe('The id of a registration.'),
      state: b.oneOf(DELIVERY_STATES).optional(),
      ...TIME_RANGE,
    },
    output: b.page(listedDelivery),
  }),
  readDelivery: operation('GET /admin/deliveries/:id', {
    id: 'read_any_delivery',
    summary: 'Read a delivery of any customer with the request of each attempt',
    tag: 'webhooks',
    output: b
      .object({
        ...anyDeliveryMembers,
        attempts: b.list(
          b.object({
            ...attemptMembers,
            request_url: b
              .text({ format: 'uri' })
              .describe('The URL of this attempt.')
              .example('https://example.com/hooks'),
            request_headers: b
              .map(b.text())
              .nullable()
              .describe(
                'Null for old attempts; without signatures if the body or a secret was deleted.',
              ),
          }),
        ),
        ...customerMembers,
      })
      .named('RecordedDelivery'),
  }),
} as const
