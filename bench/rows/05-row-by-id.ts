/** Row 5: one user by id, ids spread over all. */
import { checkHello, checkUser, firstUserId, get, helloAsk, seeded, USERS } from '../asks.ts'
import { gatehook, handmade, hello } from '../contenders.ts'
import type { LoadRow } from '../row.ts'

const users = 100_000
const IDS = 20_000

async function randomUsers(url: string) {
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
      { name: 'gatehook', contender: gatehook({ users }), asks: randomUsers, check: checkUser },
      { name: 'hello', contender: hello(), asks: () => [helloAsk()], check: checkHello },
      {
        name: 'handmade full',
        contender: handmade({ users, full: true }),
        asks: randomUsers,
        check: checkUser,
      },
    ],
    targets: [{ of: 'gatehook', to: 'hello', least: 0.35 }],
  },
]
