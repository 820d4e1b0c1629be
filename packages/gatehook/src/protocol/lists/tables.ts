/** Counts of rows for `total` of lists. */
import { byScope, int, type Table, text } from '../../platform/storage/table.ts'

const counters: Table = {
  name: 'gh_counters',
  row:
    'A part of the number of rows of a collection in a scope. Writers use several slots, so ' +
    'that they do not wait for one row.',
  columns: {
    scope: int,
    collection: text.plain,
    slot: int,
    total: int,
  },
  key: ['scope', 'collection', 'slot'],
  place: 'scope',
  belongs: byScope,
  stays: 'as long as its scope',
  ofNodes: true,
}

export const listsTables: readonly Table[] = [counters]
