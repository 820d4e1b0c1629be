/** Row 6: durable POST /orders, against the same POST without a store and with one commit each. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { GATEHOOK_DATABASE, gatehook, handmade } from '../contenders.ts'
import { countOnPostgres } from '../contenders-postgres.ts'
import { selectedDatabase } from '../database.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { firstUserId, post, seeded } from '../requests.ts'
import type { LoadRow, Side } from '../row.ts'

const users = 10_000
const BODIES = 10_000
const CURRENCIES = ['EUR', 'USD', 'GBP', 'SEK']

export async function orders(url: string): Promise<BenchRequest[]> {
  const first = await firstUserId(url)
  const random = seeded(6)
  return Array.from({ length: BODIES }, (_, n) => {
    const order = {
      user_id: first + Math.floor(random() * users),
      amount: Math.floor(random() * 100_000),
      currency: CURRENCIES[n % CURRENCIES.length],
      note: `order ${n}`,
    }
    return post('/api/v2/orders', order, order)
  })
}

export function checkOrder({ expected }: BenchRequest, { body }: Sample): string | undefined {
  const order = JSON.parse(body) as Record<string, unknown>
  const members = { ...(expected as Record<string, unknown>), status: 'pending' }
  for (const [field, value] of Object.entries(members)) {
    if (order[field] !== value) return `${field} is ${order[field]} instead of ${value}`
  }
  return Number.isSafeInteger(order.id) ? undefined : `the id is ${order.id}`
}

type CountOrders = (folder: string, query: string) => Promise<number> | number

const countIn =
  (file: string): CountOrders =>
  (folder, query) => {
    const db = new DatabaseSync(join(folder, file))
    const { count } = db.prepare(query).get() as { count: number }
    db.close()
    return count
  }

const countInGatehook: CountOrders = (folder, query) =>
  selectedDatabase() === 'postgres'
    ? countOnPostgres(folder, query)
    : countIn(GATEHOOK_DATABASE)(folder, query)

/** After SIGKILL, the database must contain exactly the orders that got 201. */
const stored =
  (count: CountOrders) =>
  async (folder: string, acknowledged: number): Promise<string | undefined> => {
    const query = "SELECT count(*) AS count FROM orders WHERE note LIKE 'order %'"
    const total = await count(folder, query)
    return total === acknowledged
      ? undefined
      : `${total} orders stored, ${acknowledged} acknowledged`
  }

function side(name: string, contender: Side['contender'], count?: CountOrders): Side {
  const common = { name, contender, requests: orders, status: 201, check: checkOrder }
  return count === undefined ? common : { ...common, audit: stored(count) }
}

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '6',
    title: 'POST /orders, API key, 10,000 different bodies',
    facts: { durability: 'FULL: synced before the answer', connections: 32, users },
    sides: [
      side('gatehook', gatehook({ users, own: 'orders' }), countInGatehook),
      side('no store', handmade({ users, store: 'none' })),
      side('commit each', handmade({ users, store: 'each' }), countIn('handmade.db')),
      side('group commit', handmade({ users, store: 'group' }), countIn('handmade.db')),
    ],
    targets: [
      { of: 'gatehook', to: 'no store', least: 0.3 },
      { of: 'gatehook', to: 'commit each', least: 4 },
    ],
  },
]
