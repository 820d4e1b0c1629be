/** Leases of the work that one node does for all. */
import { int, type Table, text } from '../../platform/storage/table.ts'

const choreLeases: Table = {
  name: 'gh_chore_leases',
  row: 'The node that purges for all nodes, until `held_until` (`chore-lease.ts`).',
  columns: {
    name: text.plain,
    node: text.plain,
    held_until: int,
  },
  key: ['name'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
  ofNodes: true,
}

export const systemTables: readonly Table[] = [choreLeases]
