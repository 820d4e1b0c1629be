/** Row 18: seconds from starting the process to its first answer, memory at rest. */
import { get, helloAsk, USERS } from '../asks.ts'
import { gatehook, handmade, hello } from '../contenders.ts'
import type { StartRow } from '../row.ts'

const users = 1000
const list = get(`${USERS}?limit=20`)

export const rows: StartRow[] = [
  {
    kind: 'start',
    name: '18',
    title: 'cold start to the first answered request; RSS two seconds later',
    facts: { durability: 'not involved', connections: 1, users },
    sides: [
      {
        name: 'gatehook',
        contender: gatehook({ users, own: 'start' }),
        fresh: false,
        ask: list,
        atMost: { seconds: 0.6, restMb: 120 },
      },
      {
        name: 'gatehook, first start',
        contender: gatehook({ users: 0 }),
        fresh: true,
        ask: list,
      },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        fresh: false,
        ask: list,
      },
      { name: 'hello', contender: hello(), fresh: false, ask: helloAsk() },
    ],
  },
]
