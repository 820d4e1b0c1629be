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

type Load = Pick<LoadRow['sides'][number], 'requests' | 'check' | 'status'>

/** Returns the row that divides the rate with the request log by the rate without. */
function logRow(
  row: Pick<LoadRow, 'name' | 'title' | 'facts'>,
  { users, load, least }: { users: number; load: Load; least: number },
): LoadRow {
  const log = gatehook({ users, own: 'log' })
  const noLog = gatehook({ users, own: 'log', requestLog: 'off' })
  return {
    kind: 'load',
    ...row,
    sides: [
      { name: 'log all', contender: log, ...load },
      { name: 'log off', contender: noLog, ...load },
    ],
    targets: [{ of: 'log all', to: 'log off', least }],
  }
}

export const rows: LoadRow[] = [
  logRow(
    {
      name: '25',
      title: 'row 5 with the request log and without',
      facts: { durability: 'reads only', connections: 32, users: READ_USERS },
    },
    { users: READ_USERS, load: reads, least: 0.93 },
  ),
  logRow(
    {
      name: '25b',
      title: 'row 6 with the request log and without',
      facts: { durability: 'FULL: synced before the answer', connections: 32, users: WRITE_USERS },
    },
    { users: WRITE_USERS, load: writes, least: 0.95 },
  ),
]
