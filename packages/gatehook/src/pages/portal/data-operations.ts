/** The operations of the portal that read the customer's integration (§12.2). */

import { requestQuery } from '../../operate/monitoring/request-filters.ts'
import { HEALTH_TONES } from '../../outbound/webhooks/overview-operations.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

/** The members of a request in the request log that its customer sees. */
const requestMembers = {
  id: b.text().describe('Name it to the support of the API.').example('req_8Qm2LwZt4xVb'),
  at: b.time(),
  method: b.text().example('POST'),
  path: b.text().example('/webhooks'),
  status: b.int(0).nullable().describe('Null: the connection ended before the response.'),
  error: b.text().nullable().example('validation_failed'),
  took_ms: b.number().example(12.5),
  credential: b
    .object({
      kind: b.text().example('key'),
      id: b.text().nullable().example('key_01jdq8w9vgk7'),
      name: b.text().nullable().example('Shop backend'),
      hint: b.text().nullable().example('gk_live_…a1B2'),
    })
    .nullable(),
  version: b.text().nullable().example('v2'),
  ip: b
    .text()
    .nullable()
    .describe('Null if the session may not read who sent the request.')
    .example('203.0.113.7'),
}

const failedRequest = b.object(requestMembers).named('PortalRequest')

const requestDetail = b
  .object({
    ...requestMembers,
    user_agent: b.text().nullable().describe('Null as `ip` is, and if the request had none.'),
    warnings: b.list(b.json()),
    event_ids: b.list(b.text()).example(['evt_01jdq8w9vgk7']),
    headers: b.json().describe('Null unless the request failed and the log stores bodies.'),
    body: b.json().describe('The body of the request without its secrets.'),
    body_truncated: b.bool(),
    answer: b.json().describe('Headers and body of the response.'),
  })
  .named('PortalRequestDetail')

export type PortalRequestJson = JsonOf<typeof failedRequest>

const application = b
  .object({
    id: b.text().example('17.cli_01jdq8w9vgk7'),
    client_id: b.text().example('cli_01jdq8w9vgk7'),
    name: b.text().example('Ledger'),
    hosts: b
      .list(b.text())
      .describe('Of an application that named itself: its hosts. Its name is not verified.')
      .example(['app.ledger.example']),
    scopes: b.list(b.text()).example(['events:read']),
    allows: b.list(b.text()).describe('The scopes in words.').example(['See the events of Acme']),
    allowed_by: b.object({
      id: b.text().example('17'),
      name: b.text().nullable().example('ada@example.com'),
    }),
    allowed_at: b.time(),
  })
  .named('PortalApplication')
  .columns({
    name: { title: 'application' },
    'allowed_by.name': { title: 'allowed by', none: 'a person' },
    allowed_at: { title: 'since' },
    allows: { title: 'may', isWide: true },
  })

export type ApplicationJson = JsonOf<typeof application>

const endpoint = b
  .object({
    id: b.text().example('wh_01jdq8w9vgk7'),
    url: b.text({ format: 'uri' }),
    events: b.list(b.text()).example(['*']),
    active: b.bool(),
    disabled_reason: b.text().nullable().example(null),
    api_version: b.text().example('v2'),
    state: b.openSet(['healthy', 'some_fail', 'slow', 'failing', 'off', 'new']).example('healthy'),
    since: b.time().nullable().describe('The first failure since the last success.'),
    off_at: b.time().nullable().describe('When the endpoint is disabled if no delivery succeeds.'),
    accepted_24h: b.number().nullable().describe('The share of attempts, from 0 to 1.').example(1),
    waiting: b.int(0).example(0),
    failed: b.int(0).describe('Deliveries that ended without success; at most 10,000 count.'),
    last60: b.text().describe('o accepted, w at a retry, s slowly, x failed.').example('ooooxw'),
  })
  .named('PortalEndpoint')
  .columns({
    url: { title: 'endpoint', isWide: true },
    state: { states: [['state', HEALTH_TONES]] },
    last60: { title: 'last 60' },
    accepted_24h: { title: 'accepted', as: 'percent' },
    events: {},
    api_version: { title: 'version', as: 'code' },
  })

const caller = b.object({
  kind: b.openSet(['key', 'client', 'webhook', 'other']).example('key'),
  id: b.text().nullable().example('key_01jdq8w9vgk7'),
  name: b.text().nullable().example('Shop backend'),
  count: b.int(0).nullable().describe('Requests since the start of the count; null: a webhook.'),
  last_at: b.time().nullable(),
})

const usedVersion = b.object({
  version: b.text().example('v1'),
  state: b.oneOf(['supported', 'deprecated', 'retired']).example('deprecated'),
  fix_by: b.time().nullable().describe('The end of a version that this customer still uses.'),
  successor: b.text().nullable().example('v2'),
  migration_guide: b.text().nullable(),
  callers: b.list(caller),
})

const deadline = b.object({
  kind: b
    .openSet(['version', 'webhook', 'key'])
    .describe('A version in use ends, a failing endpoint is disabled, or a key expires.')
    .example('key'),
  id: b
    .text()
    .describe('The id of the key or endpoint, or the version.')
    .example('key_01jdq8w9vgk7'),
  name: b.text().example('Shop backend'),
  at: b.time(),
})

const change = b.object({
  version: b.text().describe('The version with the change.').example('v2'),
  resource: b.text().example('things'),
  why: b.text().example('The amount has a currency.'),
  renamed: b.map(b.text()),
  before: b.list(b.text()).example(['total']),
  after: b.list(b.text()).example(['amount', 'currency']),
  example: b
    .object({ event_type: b.text(), from: b.json(), to: b.json() })
    .nullable()
    .describe('A sample object in the version that ends, and in the newest one.'),
})

const health = b
  .object({
    state: b.oneOf(['well', 'fix_by', 'broken']),
    fix_by: b.time().nullable().describe('The nearest end of a version in use.'),
    deadlines: b
      .list(deadline)
      .describe('The nearest deadlines, soonest first; keys only if they expire within 30 days.'),
    versions: b.list(usedVersion).describe('Versions that keys, clients and webhooks use.'),
    changes: b.list(change).describe('Changes after the oldest version in use.'),
    webhooks: b.list(endpoint).describe('Empty if the session does not read webhooks.'),
    limits: b.object({
      requests: b.object({ limit: b.int(0), window_s: b.int(0) }).nullable(),
      used_share: b
        .number()
        .nullable()
        .describe('The busiest quarter of an hour of one credential in 24 h, of its limit.')
        .example(0.31),
    }),
  })
  .named('PortalHealth')

export type PortalHealthJson = JsonOf<typeof health>
export type EndpointHealthJson = JsonOf<typeof endpoint>
export type DeadlineJson = JsonOf<typeof deadline>
export type UsedVersionJson = JsonOf<typeof usedVersion>
export type VersionCallerJson = JsonOf<typeof caller>
export type UpcomingChangeJson = JsonOf<typeof change>

const { limit, cursor, from, to, error, key_id } = requestQuery

const VALUES_NEED_SCOPES =
  'A session reads the values of a request (its path with ids and query, headers and bodies) if ' +
  'it holds the scopes that read what the path names; otherwise the path is its template. Values ' +
  'of fields with a scope of their own need that scope. The names of keys need `keys:read`, the ' +
  'names of people the scope that reads their rows, the ids of events `events:read`.'

export const portalDataOperations = {
  health: operation('GET /portal/api/health', {
    id: 'get_portal_health',
    summary: 'Read the health of the integration',
    output: health,
  }),
  errors: operation('GET /portal/api/errors', {
    id: 'list_portal_errors',
    summary: 'List failed requests of the customer, newest first',
    query: { limit, cursor, from, to, error, key_id },
    output: b.object({
      data: b.list(failedRequest),
      next_cursor: b.text().nullable(),
      has_more: b.bool(),
    }),
    description: VALUES_NEED_SCOPES,
    errors: ['not_found', 'forbidden', 'insufficient_scope'],
  }),
  request: operation('GET /portal/api/requests/:id', {
    id: 'get_portal_request',
    summary: 'Read a request of the customer',
    description: VALUES_NEED_SCOPES,
    output: requestDetail,
    errors: ['forbidden'],
  }),
  applications: operation('GET /portal/api/consents', {
    id: 'list_portal_consents',
    summary: 'List the applications that people of the customer allowed',
    description:
      'At most 200, newest first. A person sees the own ones only. The session of a link needs ' +
      '`keys:read`, and the names of people need the scope that reads their rows.',
    output: b.object({ data: b.list(application), has_more: b.bool() }),
    errors: ['insufficient_scope'],
  }),
  revoke: operation('DELETE /portal/api/consents/:id', {
    id: 'revoke_portal_consent',
    summary: 'Revoke what an application may do for a person',
    errors: ['insufficient_scope'],
  }),
}
