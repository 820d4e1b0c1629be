/**
 * Events the engine itself emits, beside those of the resources (§4.2, §8.10, §9.7), each with a
 * sample of its object. Pure data.
 */
const ending = {
  id: 'v1',
  deprecated_at: '2026-12-01T00:00:00.000Z',
  sunset_at: '2027-12-01T00:00:00.000Z',
  successor: 'v2',
  migration_guide: null,
  upgrade_url: 'https://api.example/api/v2',
  last_called_at: '2026-11-30T09:30:00.000Z',
}

export const engineEvents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'api_version.deprecated': { ...ending, status: 'deprecated' },
  'api_version.sunset_approaching': { ...ending, status: 'deprecated', days_left: 30 },
  'api_version.retired': { ...ending, status: 'retired' },
  'token.reuse_detected': {
    session_id: 'ses_sample',
    client_id: 'gatehook',
    subject: '1',
    revoked: true,
  },
  'webhook.disabled': {
    id: 'wh_sample',
    status: 'disabled',
    url: 'https://receiver.example/hooks',
    disabled_reason: 'failing',
  },
}
