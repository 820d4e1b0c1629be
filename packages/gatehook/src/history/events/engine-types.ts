/**
 * Events that the engine emits, besides those of resources (§3.8, §3.10, §4.2, §8.10, §9.7), each
 * with a sample of its object. Registrations can name only declared types. Pure.
 */
import type { NewEvent } from './event.ts'

const versionSample = {
  id: 'v1',
  deprecated_at: '2026-12-01T00:00:00.000Z',
  sunset_at: '2027-12-01T00:00:00.000Z',
  successor: 'v2',
  migration_guide: null,
  upgrade_url: 'https://api.example/api/v2',
  last_called_at: '2026-11-30T09:30:00.000Z',
}

const keySample = {
  id: 'key_sample',
  name: 'Continuous integration',
  hint: 'gk_live_…4fQx',
  scopes: ['events:read'],
  customer: 'cus_sample',
  mode: 'live',
  cidrs: [],
  api_version: null,
  expires_at: null,
  last_used_at: null,
  created_at: '2026-11-30T09:30:00.000Z',
}

/** Returns the event of a registration that the server disabled (§9.7, §9.14). */
export const webhookDisabled = (
  { id, url }: { readonly id: string; readonly url: string },
  reason: string,
): NewEvent => ({
  type: 'webhook.disabled',
  collection: undefined,
  objectId: undefined,
  object: JSON.stringify({ id, status: 'disabled', url, disabled_reason: reason }),
})

/**
 * Returns the event of a person whose data was erased (§18.11), after which receivers erase theirs.
 */
export const personErased = (id: number, collection: string, erasedAt: string): NewEvent => ({
  type: 'person.erased',
  collection: undefined,
  objectId: undefined,
  object: JSON.stringify({ id, collection, erased_at: erasedAt }),
})

/** The member of `login.throttled` that names the exceeded limit. */
const LIMIT_MEMBER = 'by'

/** The read scope of a family (§9.1); families of credentials and logins need `keys:read`. */
const familyScopes: Readonly<Record<string, string>> = {
  person: 'events:read',
  webhook: 'webhooks:read',
  api_version: 'webhooks:read',
}

export const engineEventScope = (type: string): string =>
  familyScopes[type.slice(0, type.indexOf('.'))] ?? 'keys:read'

const samples = {
  'api_version.deprecated': { ...versionSample, status: 'deprecated' },
  'api_version.sunset_approaching': { ...versionSample, status: 'deprecated', days_left: 30 },
  'api_version.retired': { ...versionSample, status: 'retired' },
  'key.created': keySample,
  'key.revoked': keySample,
  'login.throttled': {
    id: 1,
    username: 'ada@example.com',
    [LIMIT_MEMBER]: 'account',
    realm: 'person',
    address: '203.0.113.7',
    retry_after_s: 300,
  },
  'person.erased': { id: 1, collection: 'people', erased_at: '2026-11-30T09:30:00.000Z' },
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
} as const satisfies Readonly<Record<string, Readonly<Record<string, unknown>>>>

export type EngineEventType = keyof typeof samples

export const engineEvents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = samples
