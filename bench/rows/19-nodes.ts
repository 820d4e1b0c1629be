/**
 * Row 19: two nodes on one PostgreSQL against one node. With fewer than four cores, the second node
 * shares a core with the database and the load generator: read the CPU per response.
 */
import { availableParallelism } from 'node:os'
import { gatehookOnPostgres } from '../contenders-postgres.ts'
import { checkPage, pagesOf } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const USERS = 100_000
const cores = availableParallelism()
const limit = cores < 4 ? ', the limit' : ''

const side = (name: string, others: Side['contender'][]): Side => ({
  name,
  contender: gatehookOnPostgres({ users: USERS }),
  others,
  requests: (url) => pagesOf(url, { from: 0, to: USERS, step: USERS / 10_000 }),
  check: checkPage,
})

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '19',
    title: `row 1 from two nodes on one PostgreSQL, ${cores} cores${limit}`,
    facts: { durability: 'reads only', connections: 32, users: USERS },
    sides: [
      side('one node', []),
      side('two nodes', [gatehookOnPostgres({ users: USERS, node: 2 })]),
    ],
    targets: [{ of: 'two nodes', to: 'one node', least: 1.7 }],
  },
]
