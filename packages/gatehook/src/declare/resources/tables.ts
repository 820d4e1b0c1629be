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
  row:
    'A column that a declaration has added, so that the previous one can be started again. ' +
    '`computed`: 1 if the engine computes it, so that rows of nodes without it need a fill.',
  columns: {
    table_name: text.plain,
    column_name: text.plain,
    computed: int.or(0),
  },
  key: ['table_name', 'column_name'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  staysBehind: true,
}

const fills: Table = {
  name: 'gh_fills',
  row:
    'A fill of all rows of a resource that a start has begun and not ended, of computed ' +
    '`columns` or of `words`, and the last filled row as JSON; empty: none.',
  columns: {
    resource: text.plain,
    part: text.plain,
    last_key: text.plain,
  },
  key: ['resource', 'part'],
  place: 'local',
  belongs: 'installation',
  stays: 'until all rows are filled',
  ofNodes: true,
}

const searchIndexes: Table = {
  name: 'gh_search_indexes',
  row: 'The fields that the words of a resource are from.',
  columns: {
    resource: text.plain,
    fields: text.plain,
  },
  key: ['resource'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  ofNodes: true,
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
  fills,
  searchIndexes,
  ownKeys,
]
