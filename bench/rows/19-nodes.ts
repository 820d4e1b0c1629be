/**
 * Row 19: two nodes on one PostgreSQL beside one. With fewer than four cores the second node shares
 * its own with the database and the load generator: then CPU per answer is what says something.
 */
import { availableParallelism } from 'node:os'
import { checkPage, pagesOf } from '../asks.ts'
import { gatehookOnPostgres } from '../contenders-postgres.ts'
import { postgresMicros } from '../postgres.ts'
import type { LoadRow, Side } from '../row.ts'

const USERS = 100_000
const cores = availableParallelism()
const limit = cores < 4 ? ', which are the limit' : ''

const side = (name: string, others: Side['contender'][]): Side => ({
  name,
  contender: gatehookOnPostgres(USERS),
  others,
  sharedMicros: postgresMicros,
  asks: (url) => pagesOf(url, { from: 0, to: USERS, step: USERS / 10_000 }),
  check: checkPage,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '19',
    title: `row 1 from two nodes on one PostgreSQL, ${cores} cores${limit}`,
    facts: { durability: 'reads only', connections: 32, users: USERS },
    sides: [side('one node', []), side('two nodes', [gatehookOnPostgres(USERS, 2)])],
    targets: [{ of: 'two nodes', to: 'one node', least: 1.7 }],
  },
]
