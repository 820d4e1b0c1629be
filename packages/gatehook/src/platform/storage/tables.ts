/** Tables of the storage itself: settings and applied migrations. */
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

export const storageTables: readonly Table[] = [appliedMigrations, settings]
