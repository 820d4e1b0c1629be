/**
 * The members of an API key: in responses, in the bodies of requests and in lists. A new column is
 * one in `tables.ts` and a member here; statements, documents and validation follow.
 */
import { parseAddressRange } from '../../kernel/address.ts'
import type { Value } from '../../platform/storage/database.ts'
import { b, type JsonOf, type Member, type ValuesOf } from '../../protocol/fields/members.ts'
import { createAdminTable } from './admin-table.ts'
import type { Administration } from './administration.ts'
import { mode } from './collections.ts'
import { scopeSet } from './grant-validation.ts'

const NAME_MAX = 200
const MAX_CIDRS = 50

/** An address or a CIDR range (RFC 4632 §3.1). */
const RANGE_WORDS = 'an address or a range, for example 203.0.113.0/24'
const addressRange: Member<string> = b
  .matching(/^[0-9A-Fa-f:.]{2,45}(\/[0-9]{1,3})?$/, RANGE_WORDS)
  .example('203.0.113.0/24')
  .refine((text, reject) =>
    parseAddressRange(text) === undefined ? reject(`must be ${RANGE_WORDS}`) : text,
  )

const pinnedVersion = ({ versions }: Pick<Administration, 'versions'>) =>
  b
    .oneOf([...versions])
    .nullable()
    .optional()
    .describe('Pins the key to a version; default: none.')

type KeyChoices = Pick<Administration, 'scopes' | 'versions'>

/** The settings of a key: a creation sets them, and a patch changes them. */
export const keyPatch = (admin: KeyChoices) => ({
  name: b.line(NAME_MAX).optional().example('Shop backend'),
  scopes: scopeSet(admin).optional().example(['webhooks:read']),
  expires_at: b.instant().nullable().optional().example('2099-06-01T09:30:00.000Z'),
  cidrs: b
    .set(addressRange, { max: MAX_CIDRS })
    .optional()
    .describe('The addresses that may use the key; empty: every address.'),
  api_version: pinnedVersion(admin),
})

type KeySettings = Partial<ValuesOf<ReturnType<typeof keyPatch>>>

/** Returns the cells of the settings that are set. */
export function settingCells(admin: KeyChoices, settings: KeySettings): Record<string, Value> {
  const cells = Object.keys(keyPatch(admin)).map((name) => {
    const value = settings[name as keyof KeySettings]
    return [name, Array.isArray(value) ? JSON.stringify(value) : value] as const
  })
  return Object.fromEntries(cells.filter(([, cell]) => cell !== undefined)) as Record<string, Value>
}

export const keyCreation = (admin: KeyChoices) => ({
  ...keyPatch(admin),
  name: b.line(NAME_MAX).example('Shop backend'),
  scopes: scopeSet(admin).example(['webhooks:read']),
  customer: b
    .line(NAME_MAX)
    .optional()
    .describe('The id or external id of a customer, or `default`; default: that of the caller.'),
  mode: mode.optional().describe('Default `live`.'),
})

/** A key that the team has issued, and that Gatehook takes over without its text (§17.3). */
export const keyTakeOver = {
  sha256: b
    .matching(/^[0-9A-Fa-f]{64}$/, 'SHA-256 as 64 hexadecimal digits')
    .optional()
    .secret()
    .describe('The SHA-256 of a key that you have issued: it keeps working.')
    .example('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'),
  hint: b
    .line(16)
    .optional()
    .describe('With `sha256`: the end of the key, which identifies it to its owner.')
    .example('a1B2'),
}

export const keyMembers = {
  id: b.text().example('key_01jdq8w9vgk7'),
  name: b.text().example('Shop backend'),
  hint: b
    .text()
    .describe('Identifies the key to its owner: its prefix and its last four characters.')
    .example('gk_live_…a1B2'),
  scopes: b.list(b.text()).example(['webhooks:read']),
  customer: b.text().example('cus_01jdq8w9vgk7'),
  mode,
  api_version: b.text().nullable().describe('The pinned version; null: the default.').example(null),
  cidrs: b
    .list(b.text())
    .describe('The addresses that may use the key; empty: every address.')
    .example(['203.0.113.0/24']),
  expires_at: b.time().nullable().describe('Null: never.'),
  created_at: b.time(),
  last_used_at: b.time().nullable(),
}

/** The columns of keys that their customer sees, too. */
export const keyColumns = {
  name: {},
  hint: { title: 'key', as: 'code' },
  last_used_at: { as: 'ago', none: 'never' },
  scopes: { none: 'none', isWide: true },
  expires_at: { none: 'never' },
} as const

export const apiKey = b.object(keyMembers).named('ApiKey')

const newKeyText = b
  .text()
  .describe('The key. Only this response contains it.')
  .example('gk_live_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2')

export const newApiKey = b.object({ ...keyMembers, key: newKeyText }).named('ApiKeyWithSecret')

export const createdApiKey = b
  .object({ ...keyMembers, key: newKeyText.optional() })
  .named('CreatedApiKey')

export type ApiKeyJson = JsonOf<typeof apiKey>
/** A key in the only response that contains its text. */
export type NewApiKey = JsonOf<typeof newApiKey>

/** The list of all keys. The row of a revoked key remains, for the log and the audit trail. */
export const storedKeys = {
  name: 'api_keys',
  table: 'gh_api_keys',
  filter: ['id', 'name', 'customer', 'mode', 'expires_at', 'created_at', 'last_used_at'],
  sort: ['id', 'name', 'created_at', 'last_used_at'],
} as const

/** The keys that are not revoked. */
export const currentKeys = {
  ...storedKeys,
  indexes: [
    ['id'],
    ['name', 'id'],
    ['created_at', 'id'],
    ['last_used_at', 'id'],
    ['customer', 'id'],
  ],
  where: 'revoked_at IS NULL',
}

export const keyTable = createAdminTable({
  ...currentKeys,
  row: apiKey,
  path: '/admin/keys',
  route: { table: 'gh_api_key_secrets', column: 'key_id' },
})
