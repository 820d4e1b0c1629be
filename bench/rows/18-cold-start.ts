/** Row 18: seconds from process start to the first response, memory at rest. */

import { gatehook, handmade, hello } from '../contenders.ts'
import { get, helloRequest, USERS } from '../requests.ts'
import type { StartRow } from '../row.ts'

const users = 1000
const list = get(`${USERS}?limit=20`)

export const rows: StartRow[] = [
  {
    kind: 'start',
    name: '18',
    title: 'cold start to the first response; RSS two seconds later',
    facts: { durability: 'not involved', connections: 1, users },
    sides: [
      {
        name: 'gatehook',
        contender: gatehook({ users, own: 'start', packaged: true }),
        fresh: false,
        request: list,
        atMost: { seconds: 0.4, restMb: 110 },
      },
      {
        name: 'gatehook, sources',
        contender: gatehook({ users, own: 'sources' }),
        fresh: false,
        request: list,
      },
      {
        name: 'gatehook, first start',
        contender: gatehook({ users: 0, packaged: true }),
        fresh: true,
        request: list,
      },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        fresh: false,
        request: list,
      },
      { name: 'hello', contender: hello(), fresh: false, request: helloRequest() },
    ],
  },
]
