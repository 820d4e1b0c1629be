/** Row 16: row 1 on PostgreSQL, which shares a core with the load generator. */
import { checkPage, pagesOf } from '../asks.ts'
import { gatehookOnPostgres, handmadeOnPostgres } from '../contenders-postgres.ts'
import { postgresMicros } from '../postgres.ts'
import type { LoadRow, Side } from '../row.ts'

const USERS = 100_000

const side = (name: string, contender: Side['contender']): Side => ({
  name,
  contender,
  sharedMicros: postgresMicros,
  asks: (url) => pagesOf(url, { from: 0, to: USERS, step: USERS / 10_000 }),
  check: checkPage,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '16',
    title:
      'row 1 on PostgreSQL beside hand-made ones of the same duties, one with pipelines as well',
    facts: { durability: 'reads only', connections: 32, users: USERS },
    sides: [
      side('gatehook', gatehookOnPostgres(USERS)),
      side('handmade, pool', handmadeOnPostgres(USERS, false)),
      side('handmade, pipelines', handmadeOnPostgres(USERS, true)),
    ],
    targets: [{ of: 'gatehook', to: 'handmade, pool', least: 1.1 }],
  },
]
