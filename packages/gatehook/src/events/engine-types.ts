/**
 * Events the engine itself emits, beside those of the resources (§4.2, §8.10, §9.7), each with a
 * sample of its object. Pure data.
 */
export const engineEvents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'api_version.deprecated': {
    id: 'v1',
    status: 'deprecated',
    deprecated_at: '2026-12-01T00:00:00.000Z',
    sunset_at: '2027-12-01T00:00:00.000Z',
    successor: 'v2',
  },
  'api_version.sunset_approaching': {
    id: 'v1',
    status: 'deprecated',
    sunset_at: '2027-12-01T00:00:00.000Z',
    days_left: 30,
    successor: 'v2',
  },
  'api_version.retired': {
    id: 'v1',
    status: 'retired',
    sunset_at: '2027-12-01T00:00:00.000Z',
    successor: 'v2',
  },
  'key.created': {
    id: 'key_sample',
    name: 'Billing service',
    scopes: ['events:read'],
  },
  'key.revoked': {
    id: 'key_sample',
    name: 'Billing service',
    scopes: ['events:read'],
  },
  'login.throttled': {
    id: 1,
    username: 'ada@example.com',
    by: 'account',
    realm: 'person',
    address: '203.0.113.9',
    retry_after_s: 300,
  },
  'token.reuse_detected': {
    id: 'ses_sample',
    status: 'revoked',
    subject: '1',
    client_id: 'gatehook',
  },
  'webhook.disabled': {
    id: 'wh_sample',
    status: 'disabled',
    url: 'https://receiver.example/hooks',
    disabled_reason: 'failing',
  },
}
