/** Clients as they are listed and shown: one description for lists and single answers (§13). */
import type { Collection } from '../lists/collection.ts'
import { cellView } from '../lists/encode.ts'
import type { GrantType } from './client.ts'
import type { ClientRow } from './client-store.ts'

export const clientCollection: Collection = {
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
    { name: 'customer', type: 'text' },
    { name: 'mode', type: 'text', oneOf: ['live', 'test'] },
    { name: 'created_at', type: 'time' },
  ],
  integerId: false,
  scoped: false,
  counted: false,
  filter: ['client_id', 'name', 'public', 'customer', 'mode', 'created_at'],
  sort: ['client_id', 'name', 'created_at'],
  where: 'deleted_at IS NULL',
}

export const clientView = cellView(
  clientCollection.columns,
  (row) => `{"self":${JSON.stringify(`/admin/clients/${row[0]}`)}}`,
)

/** As the administration sees it. */
export interface ShownClient {
  readonly client_id: string
  readonly name: string
  readonly redirect_uris: readonly string[]
  readonly scopes: readonly string[]
  readonly grant_types: readonly GrantType[]
  readonly public: boolean
  readonly require_client_auth_on_refresh: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly created_at: string
}

/** A stored row as callers see it, exactly as in lists. */
export const shownClient = (row: ClientRow): ShownClient =>
  JSON.parse(
    clientView.item(
      clientCollection.columns.map((column) => row[column.name]),
      {},
    ),
  )
