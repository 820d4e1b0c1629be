/** Tables of the storage itself: settings, nodes and applied migrations. */
import { int, type Table, text } from './table.ts'

export const appliedMigrations: Table = {
  name: 'gh_migrations',
  row: 'A change of the tables that this database has applied.',
  columns: {
    number: int,
    name: text.plain,
    applied_at: int,
    checksum: text.plain.orNull,
    additive: int,
  },
  key: ['number'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  staysBehind: true,
}

const settings: Table = {
  name: 'gh_settings',
  row: 'A value of the installation, as JSON.',
  columns: {
    name: text.plain,
    value: text.plain,
  },
  key: ['name'],
  place: 'local',
  belongs: 'installation',
  stays: 'until it is deleted',
  ofNodes: true,
}

const nodes: Table = {
  name: 'gh_nodes',
  row:
    'A node that runs; see `running-nodes.ts`. JSON: `facts` are those of `operate/monitoring/`, ' +
    '`columns` the columns of resources that the node uses, `key_ids` its master secrets.',
  columns: {
    id: text.plain,
    name: text.plain,
    slot: int,
    facts: text.plain,
    columns: text.plain,
    key_ids: text.plain,
    seen_at: int,
  },
  key: ['id'],
  place: 'local',
  belongs: 'installation',
  stays: 'until the node ends, or 45 s after its last report',
  ofNodes: true,
}

export const storageTables: readonly Table[] = [appliedMigrations, settings, nodes]
