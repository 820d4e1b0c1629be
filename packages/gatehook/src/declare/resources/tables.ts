/** State of the declaration's tables. */
import { byScope, bytes, int, type Table, text } from '../../platform/storage/table.ts'

const serviceMigrations: Table = {
  name: 'gh_service_migrations',
  row: 'A reviewed migration of the service that was applied.',
  columns: {
    number: int,
    name: text.plain,
    checksum: text.plain,
    additive: int,
  },
  key: ['number'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  staysBehind: true,
}

const serviceAdditions: Table = {
  name: 'gh_service_additions',
  row: 'A column that a declaration has added, so that the previous one can be started again.',
  columns: {
    table_name: text.plain,
    column_name: text.plain,
  },
  key: ['table_name', 'column_name'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  staysBehind: true,
}

const computedFills: Table = {
  name: 'gh_computed_fills',
  row: 'A resource whose rows lack computed values, and the last row that has them.',
  columns: {
    resource: text.plain,
    last_key: text.plain.orNull,
  },
  key: ['resource'],
  place: 'local',
  belongs: 'installation',
  stays: 'until all rows have them',
}

const searchIndexes: Table = {
  name: 'gh_search_indexes',
  row: 'The fields that the words of a resource are from, and the last row with words; null: all.',
  columns: {
    resource: text.plain,
    fields: text.plain,
    last_scope: int.orNull,
    last_id: int.orNull,
    last_key: text.plain.orNull,
  },
  key: ['resource'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
}

const awaitedFills: Table = {
  name: 'gh_awaited_fills',
  row:
    'A computed column or what words follow from, which nodes without it do not write; when the ' +
    'last one is gone, all rows of the resource are filled again (decision 0040).',
  columns: {
    resource: text.plain,
    value: text.plain,
  },
  key: ['resource', 'value'],
  place: 'local',
  belongs: 'installation',
  stays: 'until the fill begins',
}

export const ownKeys: Table = {
  name: 'gh_own_keys',
  row: 'An event or a job of own code by the key of its call, so that a repeat has no effect.',
  columns: {
    scope: int,
    word: text.plain,
    key_hash: bytes.secret,
    result: text.plain,
    expires_at: int,
  },
  key: ['scope', 'word', 'key_hash'],
  place: 'scope',
  belongs: byScope,
  indexes: { expiry: { on: 'expires_at', serves: 'the purge', purges: true } },
  purgedBy: 'expires_at',
  stays: '24 hours',
}

export const resourcesTables: readonly Table[] = [
  serviceMigrations,
  serviceAdditions,
  computedFills,
  searchIndexes,
  awaitedFills,
  ownKeys,
]
