/** Tables of the storage itself: settings, nodes and applied migrations. */
import { int, type Table, text } from './table.ts'

export const appliedMigrations: Table = {
  name: 'gh_migrations',
  row: 'A change of the tables that this database has applied.',
  columns: {
    number: int,
    name: text,
    applied_at: int,
    checksum: text.orNull,
    additive: int,
  },
  key: ['number'],
  place: 'local',
  stays: 'for ever',
  staysBehind: true,
}

const settings: Table = {
  name: 'gh_settings',
  row: 'A value of the installation, as JSON.',
  columns: {
    name: text,
    value: text,
  },
  key: ['name'],
  place: 'local',
  stays: 'until it is deleted',
  ofNodes: true,
}

const nodes: Table = {
  name: 'gh_nodes',
  row:
    'A node that runs; see `running-nodes.ts`. JSON: `facts` are those of `operate/monitoring/`, ' +
    '`columns` the columns of resources that the node uses, `key_ids` its master secrets.',
  columns: {
    id: text,
    name: text,
    slot: int,
    facts: text,
    columns: text,
    key_ids: text,
    seen_at: int,
  },
  key: ['id'],
  place: 'local',
  stays: 'until the node ends, or 45 s after its last report',
  ofNodes: true,
}

export const storageTables: readonly Table[] = [appliedMigrations, settings, nodes]
