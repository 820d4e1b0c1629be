/** Row 16: row 1 on PostgreSQL, which shares a core with the load generator. */

import { gatehookOnPostgres, handmadeOnPostgres } from '../contenders-postgres.ts'
import { checkPage, pagesOf } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const USERS = 100_000

const side = (name: string, contender: Side['contender']): Side => ({
  name,
  contender,
  requests: (url) => pagesOf(url, { from: 0, to: USERS, step: USERS / 10_000 }),
  check: checkPage,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '16',
    title:
      'row 1 on PostgreSQL beside handwritten servers with the same features, one with pipelines',
    facts: { durability: 'reads only', connections: 32, users: USERS },
    sides: [
      side('gatehook', gatehookOnPostgres({ users: USERS })),
      side('handmade, pool', handmadeOnPostgres(USERS, false)),
      side('handmade, pipelines', handmadeOnPostgres(USERS, true)),
    ],
    targets: [{ of: 'gatehook', to: 'handmade, pool', least: 1.1 }],
  },
]
