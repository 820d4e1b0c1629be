/** The tables of customers and of API keys, as `/admin` and the command line return them. */
import { createAdminTable } from './admin-table.ts'

export interface CustomerJson {
  readonly id: string
  readonly name: string
  readonly suspended: boolean
  readonly limits: Readonly<Record<string, unknown>>
  readonly created_at: string
}

export const customerTable = createAdminTable<CustomerJson>(
  {
    name: 'customers',
    table: 'gh_customers',
    columns: [
      { name: 'id', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'suspended', type: 'bool' },
      { name: 'limits', type: 'json' },
      { name: 'created_at', type: 'time' },
    ],
    filter: ['id', 'name', 'suspended', 'created_at'],
    sort: ['id', 'name', 'created_at'],
    indexes: [['id'], ['name', 'id'], ['created_at', 'id']],
  },
  '/admin/customers',
)

export interface ApiKeyJson {
  readonly id: string
  readonly name: string
  /** Identifies the key to its owner: `gk_live_…` and its last four characters. */
  readonly hint: string
  readonly scopes: readonly string[]
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly api_version: string | null
  readonly cidrs: readonly string[]
  readonly expires_at: string | null
  readonly created_at: string
  readonly last_used_at: string | null
}

export const keyTable = createAdminTable<ApiKeyJson>(
  {
    name: 'api_keys',
    table: 'gh_api_keys',
    columns: [
      { name: 'id', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'hint', type: 'text' },
      { name: 'scopes', type: 'json' },
      { name: 'customer', type: 'text' },
      { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
      { name: 'api_version', type: 'text', nullable: true },
      { name: 'cidrs', type: 'json' },
      { name: 'expires_at', type: 'time', nullable: true },
      { name: 'created_at', type: 'time' },
      { name: 'last_used_at', type: 'time', nullable: true },
    ],
    filter: ['id', 'name', 'customer', 'mode', 'expires_at', 'created_at', 'last_used_at'],
    sort: ['id', 'name', 'created_at', 'last_used_at'],
    indexes: [
      ['id'],
      ['name', 'id'],
      ['created_at', 'id'],
      ['last_used_at', 'id'],
      ['customer', 'id'],
    ],
    // The row of a revoked key remains, for the audit trail and the statistics of versions.
    where: 'revoked_at IS NULL',
  },
  '/admin/keys',
)
