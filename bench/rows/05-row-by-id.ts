/** Row 5: one user by id, ids spread over all. */

import { gatehook, handmade, hello } from '../contenders.ts'
import {
  checkHello,
  checkUser,
  firstUserId,
  get,
  helloRequest,
  seeded,
  USERS,
} from '../requests.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000
const IDS = 20_000

export async function randomUsers(url: string) {
  const first = await firstUserId(url)
  const random = seeded(5)
  return Array.from({ length: IDS }, () => {
    const id = first + Math.floor(random() * users)
    return get(`${USERS}/${id}`, id)
  })
}

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '5',
    title: 'one row by id, API key, 20,000 random ids',
    facts: { durability: 'reads only', connections: 32, users },
    sides: [
      { name: 'gatehook', contender: gatehook({ users }), requests: randomUsers, check: checkUser },
      { name: 'hello', contender: hello(), requests: () => [helloRequest()], check: checkHello },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        requests: randomUsers,
        check: checkUser,
      },
    ],
    targets: [{ of: 'gatehook', to: 'hello', least: 0.35 }],
  },
]
