/** Row 4: the unfiltered total of a million rows against that of a thousand. */

import { gatehook, handmade } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { get, PAGE_SIZE, USERS } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const PAGES = 50

const checkTotal = ({ expected }: BenchRequest, { body }: Sample) => {
  const { total, data } = JSON.parse(body) as { total: number; data: unknown[] }
  if (data.length !== PAGE_SIZE) return `${data.length} rows instead of ${PAGE_SIZE}`
  return total === expected ? undefined : `total ${total} instead of ${expected}`
}

const side = (name: string, users: number, contender: Side['contender']): Side => ({
  name: `${name}, ${users}`,
  contender,
  requests: () =>
    Array.from({ length: PAGES }, (_, n) =>
      get(`${USERS}?page=${n + 1}&per_page=${PAGE_SIZE}`, users),
    ),
  check: checkTotal,
})

const sizes = [1000, 1_000_000]

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '4',
    title: 'page-based list with its total, pages 1 to 50, 1k rows and 1M rows',
    facts: { durability: 'reads only', connections: 32, users: 1_000_000 },
    sides: [
      ...sizes.map((users) => side('gatehook', users, gatehook({ users }))),
      ...sizes.map((users) => side('handmade full', users, handmade({ users, full: true }))),
    ],
    targets: [
      { of: 'gatehook, 1000', to: 'gatehook, 1000000', most: 1.1 },
      { of: 'handmade full, 1000', to: 'handmade full, 1000000', most: 1.1 },
    ],
  },
]
