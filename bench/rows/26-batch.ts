/** Row 26: a batch of 100 orders against 100 single POSTs, both durable. */
import { gatehook } from '../contenders.ts'
import type { Sample } from '../drive.ts'
import type { BenchRequest } from '../load.ts'
import { firstUserId, post } from '../requests.ts'
import type { LoadRow } from '../row.ts'

const users = 10_000
const BATCH = 100
const BODIES = 2000
const contender = gatehook({ users, own: 'batches', service: 'collections' })
const ORDERS = '/api/v2/orders'

interface Order {
  readonly user_id: number
  readonly amount: number
  readonly note: string
}

const orderOf = (first: number, n: number): Order => ({
  user_id: first + (n % users),
  amount: 1 + (n % 1000),
  note: `order ${n}`,
})

async function singles(url: string): Promise<BenchRequest[]> {
  const first = await firstUserId(url)
  return Array.from({ length: BODIES }, (_, n) => {
    const order = orderOf(first, n)
    return post(ORDERS, order, order)
  })
}

async function batches(url: string): Promise<BenchRequest[]> {
  const first = await firstUserId(url)
  return Array.from({ length: BODIES / BATCH }, (_, batch) => {
    const items = Array.from({ length: BATCH }, (_, n) => orderOf(first, batch * BATCH + n))
    return post(`${ORDERS}/batch`, { items }, items)
  })
}

function differenceOf(order: Order, expected: Order): string | undefined {
  const fields = Object.keys(expected) as (keyof Order)[]
  const field = fields.find((name) => order[name] !== expected[name])
  return field && `${field} is ${order[field]} instead of ${expected[field]}`
}

function checkSingle({ expected }: BenchRequest, { body }: Sample): string | undefined {
  return differenceOf(JSON.parse(body) as Order, expected as Order)
}

function checkBatch({ expected }: BenchRequest, { body }: Sample): string | undefined {
  const { items } = JSON.parse(body) as { items: { status: number; body: Order }[] }
  const orders = expected as Order[]
  if (items.length !== BATCH) return `${items.length} items instead of ${BATCH}`
  for (const [n, { status, body }] of items.entries()) {
    const difference = status === 201 ? differenceOf(body, orders[n]!) : `item ${n} is ${status}`
    if (difference) return difference
  }
  return undefined
}

export const rows: LoadRow[] = [
  {
    kind: 'load',
    name: '26c',
    title: `batches of ${BATCH} orders and single orders; at 0.08 batches store 8 × as many rows`,
    facts: { durability: 'FULL: synced before the answer', connections: 32, users },
    sides: [
      { name: 'batch', contender, requests: batches, status: 200, check: checkBatch },
      { name: 'single', contender, requests: singles, status: 201, check: checkSingle },
    ],
    targets: [{ of: 'batch', to: 'single', least: 8 / BATCH }],
  },
]
