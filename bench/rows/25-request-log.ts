/** Row 25: the cost of the request log, which stores a sample of 500 requests a second and more. */
import { gatehook } from '../contenders.ts'
import { checkUser } from '../requests.ts'
import type { LoadRow } from '../row.ts'
import { randomUsers } from './05-row-by-id.ts'
import { checkOrder, orders } from './06-post-orders.ts'

const READ_USERS = 100_000
const WRITE_USERS = 10_000

const reads = { requests: randomUsers, check: checkUser }
const writes = { requests: orders, status: 201, check: checkOrder }

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '25',
    title: 'row 5 with the request log and without',
    facts: { durability: 'reads only', connections: 32, users: READ_USERS },
    sides: [
      { name: 'log all', contender: gatehook({ users: READ_USERS, own: 'log' }), ...reads },
      {
        name: 'log off',
        contender: gatehook({ users: READ_USERS, own: 'log', requestLog: 'off' }),
        ...reads,
      },
    ],
    targets: [{ of: 'log all', to: 'log off', least: 0.93 }],
  },
  {
    kind: 'load',
    name: '25b',
    title: 'row 6 with the request log and without',
    facts: { durability: 'FULL: synced before the answer', connections: 32, users: WRITE_USERS },
    sides: [
      { name: 'log all', contender: gatehook({ users: WRITE_USERS, own: 'log' }), ...writes },
      {
        name: 'log off',
        contender: gatehook({ users: WRITE_USERS, own: 'log', requestLog: 'off' }),
        ...writes,
      },
    ],
    targets: [{ of: 'log all', to: 'log off', least: 0.95 }],
  },
]
