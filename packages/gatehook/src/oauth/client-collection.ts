/** Clients as they are listed and shown (§13). */
import { createAdminTable } from '../access/admin-table.ts'
import type { GrantType } from './client.ts'

/** As the administration sees it. */
export interface ShownClient {
  readonly client_id: string
  readonly name: string
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
  readonly grant_types: readonly GrantType[]
  readonly public: boolean
  readonly require_client_auth_on_refresh: boolean
  readonly first_party: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly created_at: string
}

export const clientRows = createAdminTable<ShownClient>(
  {
    name: 'clients',
    table: 'gh_clients',
    columns: [
      { name: 'client_id', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'redirect_uris', type: 'json' },
      { name: 'scopes', type: 'json' },
      { name: 'grant_types', type: 'json' },
      { name: 'public', type: 'bool' },
      { name: 'require_client_auth_on_refresh', type: 'bool' },
      { name: 'first_party', type: 'bool' },
      { name: 'customer', type: 'text' },
      { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
      { name: 'created_at', type: 'time' },
    ],
    filter: ['client_id', 'name', 'public', 'customer', 'mode', 'created_at'],
    sort: ['client_id', 'name', 'created_at'],
    indexes: [
      ['client_id'],
      ['name', 'client_id'],
      ['created_at', 'client_id'],
      ['customer', 'client_id'],
    ],
    where: 'deleted_at IS NULL',
  },
  '/admin/clients',
)
