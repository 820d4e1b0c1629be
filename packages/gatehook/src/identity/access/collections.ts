/** The tables of customers and of API keys, as `/admin` and the command line return them. */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { createAdminTable } from './admin-table.ts'

const MAX_PER_WINDOW = 1_000_000
const MAX_WINDOW_S = 86_400

/** A number of requests or deliveries per window. */
const rate = b.object({
  limit: b.int(1, MAX_PER_WINDOW).example(600),
  window_s: b.int(1, MAX_WINDOW_S).describe('The window in seconds.').example(60),
})

/** A customer's own limits; the installation's apply if one is absent. */
export const customerLimits = b
  .object({
    rate_limit: rate.nullable().optional().describe('Requests of each credential (§11.3).'),
    total_rate_limit: rate
      .nullable()
      .optional()
      .describe('Requests of all credentials together; default 10 × the limit of one.'),
    delivery_rate: rate.nullable().optional().describe('Webhook deliveries (§9.8).'),
  })
  .describe('Limits of this customer. The limits of the installation apply where one is absent.')

const customerId = b.text().example('cus_01jdq8w9vgk7')
export const mode = b.oneOf(['live', 'test'])

export const customer = b
  .object({
    id: customerId,
    name: b.text().example('Acme GmbH'),
    suspended: b.bool().describe('Every credential of the customer gets 403.').example(false),
    contact_email: b
      .text()
      .nullable()
      .describe('The address for news about the API, for example the end of a version.')
      .example('api@acme.example'),
    limits: customerLimits,
    created_at: b.time(),
  })
  .named('Customer')

export type CustomerJson = JsonOf<typeof customer>

export const customerTable = createAdminTable({
  row: customer,
  path: '/admin/customers',
  name: 'customers',
  table: 'gh_customers',
  filter: ['id', 'name', 'suspended', 'created_at'],
  sort: ['id', 'name', 'created_at'],
  indexes: [['id'], ['name', 'id'], ['created_at', 'id']],
})

export const keyMembers = {
  id: b.text().example('key_01jdq8w9vgk7'),
  name: b.text().example('Shop backend'),
  hint: b
    .text()
    .describe('Identifies the key to its owner: its prefix and its last four characters.')
    .example('gk_live_…a1B2'),
  scopes: b.list(b.text()).example(['webhooks:read']),
  customer: customerId,
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

export const apiKey = b.object(keyMembers).named('ApiKey')

export const newApiKey = b
  .object({
    ...keyMembers,
    key: b
      .text()
      .describe('The key. Only this response contains it.')
      .example('gk_live_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2'),
  })
  .named('ApiKeyWithSecret')

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
