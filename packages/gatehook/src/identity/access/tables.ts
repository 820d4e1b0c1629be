/** Customers, their API keys and the secrets of keys. */
import { byScope, bytes, int, serial, type Table, text } from '../../platform/storage/table.ts'

export const customers: Table = {
  name: 'gh_customers',
  row:
    'A customer. `no` is in the scopes of its rows. `external_id` is the id in the system of the ' +
    'team. `unaudited_role` is the role of the database that created it by SQL, until a node has ' +
    'recorded that in the audit trail. With `deleting_since` its credentials have ended, ' +
    'and a job deletes its rows, which `deleted_rows` counts (§18.11).',
  columns: {
    no: serial,
    id: text.plain,
    name: text.personal,
    suspended: int.or(0),
    limits: text.plain.or('{}'),
    created_at: int,
    contact_email: text.personal.orNull,
    external_id: text.plain.orNull,
    deleting_since: int.orNull,
    deleted_rows: int.or(0),
    unaudited_role: text.plain.orNull,
  },
  key: ['no'],
  place: 'reference',
  belongs: { customerNo: 'no' },
  indexes: {
    id: { on: 'id', unique: true, serves: 'customers by their id' },
    external: { on: 'external_id', unique: true, serves: 'customers by the id of the team' },
    name: { on: 'name, id', serves: 'lists by name' },
    created: { on: 'created_at, id', serves: 'lists by time' },
    unaudited: {
      on: 'no',
      where: 'unaudited_role IS NOT NULL',
      serves: 'customers of SQL that the audit trail lacks',
    },
  },
  stays: 'until its rows are deleted',
  searched: {
    type: 'customer',
    prefix: 'cus',
    id: 'id',
    label: 'e.name',
    names: { column: 'name' },
  },
}

export const apiKeys: Table = {
  name: 'gh_api_keys',
  row: 'An API key, without its secret. `hint`: the start and the end of the newest secret.',
  columns: {
    id: text.plain,
    scope: int,
    customer: text.plain,
    mode: text.plain,
    name: text.personal,
    scopes: text.plain,
    cidrs: text.personal.or('[]'),
    api_version: text.plain.orNull,
    hint: text.secret,
    created_at: int,
    expires_at: int.orNull,
    revoked_at: int.orNull,
    last_used_at: int.orNull,
  },
  key: ['id'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    scope: { on: 'scope, id', serves: 'the keys of a customer' },
    name: { on: 'name, id', where: 'revoked_at IS NULL', serves: 'lists by name' },
    created: { on: 'created_at, id', where: 'revoked_at IS NULL', serves: 'lists by time' },
    used: { on: 'last_used_at, id', where: 'revoked_at IS NULL', serves: 'lists by last use' },
    customer: {
      on: 'customer, id',
      where: 'revoked_at IS NULL',
      serves: 'lists of a customer in both modes',
    },
    expiry: {
      on: 'expires_at',
      where: 'expires_at IS NOT NULL AND revoked_at IS NULL',
      serves: 'keys that expire soon',
    },
    revoked_id: { on: 'id', where: 'revoked_at IS NOT NULL', serves: 'lists of revoked keys' },
    revoked_name: {
      on: 'name, id',
      where: 'revoked_at IS NOT NULL',
      serves: 'lists of revoked keys by name',
    },
    revoked_revoked_at: {
      on: 'revoked_at, id',
      where: 'revoked_at IS NOT NULL',
      serves: 'lists of revoked keys by time',
    },
  },
  stays: 'for ever',
  searched: {
    type: 'key',
    prefix: 'key',
    id: 'id',
    label: "CASE WHEN e.revoked_at IS NULL THEN e.name ELSE e.name || ' (revoked)' END",
    names: { column: 'name', parts: ['revoked_at IS NULL', 'revoked_at IS NOT NULL'] },
    secrets: { table: 'gh_api_key_secrets', owner: 'key_id' },
  },
}

const apiKeySecrets: Table = {
  name: 'gh_api_key_secrets',
  row:
    'A secret of a key: its hash leads to the key, and to the scope. `ending`: its last four ' +
    'characters.',
  columns: {
    hash: bytes.secret,
    key_id: text.plain,
    created_at: int,
    expires_at: int.orNull,
    scope: int,
    ending: text.secret.orNull,
  },
  key: ['hash'],
  place: 'reference',
  belongs: byScope,
  indexes: {
    key: { on: 'key_id', serves: 'the secrets of a key' },
    ending: { on: 'ending', serves: 'the search of a leaked secret' },
  },
  stays: 'until the secret is replaced and has expired',
}

export const accessTables: readonly Table[] = [customers, apiKeys, apiKeySecrets]
