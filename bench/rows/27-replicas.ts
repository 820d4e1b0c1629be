/** Row 27: the same pages with and without a replica for reads; the CPU is that of the primary. */

import { gatehookOnPostgres, gatehookWithReplica } from '../contenders-postgres.ts'
import { checkPage, pagesOf } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const USERS = 10_000

const side = (name: string, contender: Side['contender']): Side => ({
  name,
  contender,
  requests: (url) => pagesOf(url, { from: 0, to: USERS, step: USERS / 1_000 }),
  check: checkPage,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '27',
    title: 'pages on PostgreSQL, read from the primary and from a replica',
    facts: { durability: 'reads only', connections: 32, users: USERS },
    sides: [
      side('gatehook', gatehookOnPostgres({ users: USERS })),
      side('gatehook, a replica', gatehookWithReplica(USERS)),
    ],
    targets: [],
  },
]
