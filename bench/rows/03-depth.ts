/** Row 3: pages at the head and at the end of a list of a million; also with equal sort keys. */

import { gatehook, handmade } from '../contenders.ts'
import { checkPage, pagesOf, type Walk } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 1_000_000
/** Rows at both ends; their pages exceed the page cache. */
const SPAN_ROWS = 100_000

function row(label: string, title: string, walk: Pick<Walk, 'sort' | 'tied'>): LoadRow {
  const tied = walk.tied ?? false
  const ends = (name: string, contender: Side['contender']): Side[] => [
    {
      name: `${name}, head`,
      contender,
      requests: (url) => pagesOf(url, { ...walk, from: 20, to: 20 + SPAN_ROWS, step: 20 }),
      check: checkPage,
    },
    {
      name: `${name}, end`,
      contender,
      requests: (url) => pagesOf(url, { ...walk, from: users - SPAN_ROWS, to: users, step: 20 }),
      check: checkPage,
    },
  ]
  return {
    kind: 'load',
    name: `3@${label}`,
    title,
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      ...ends('gatehook', gatehook({ users, tied })),
      ...ends('handmade full', handmade({ users, tied, full: true })),
    ],
    targets: [
      { of: 'gatehook, head', to: 'gatehook, end', most: 1.2 },
      { of: 'handmade full, head', to: 'handmade full, end', most: 1.2 },
    ],
  }
}

export const rows = [
  row('id', 'cursor page of 20 by id, at row 20 and at row 1M', {}),
  row('time', 'cursor page of 20 by created_at, at row 20 and at row 1M', { sort: 'created_at' }),
  row('tied', 'the same with all created_at equal', { sort: 'created_at', tied: true }),
]
