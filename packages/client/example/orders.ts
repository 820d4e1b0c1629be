import { createClient, GatehookError } from 'gatehook-client'

interface Order {
  id: number
  user_id: number
  status: 'pending' | 'paid' | 'shipped' | 'delivered' | 'cancelled'
  amount: number
  currency: string
}
type NewOrder = Pick<Order, 'user_id' | 'amount' | 'currency'>

const client = createClient({
  baseUrl: process.env.GATEHOOK_URL ?? 'http://127.0.0.1:8787',
  apiKey: process.env.GATEHOOK_API_KEY!,
  version: 'v2',
  onDeprecation: ({ version, sunset }) => console.warn(`${version} ends on ${sunset}`),
})
const orders = client.collection<Order, NewOrder>('orders')

// After a lost response the client retries with the same idempotency key: never two orders.
const order = await orders.create({ user_id: 1, amount: 1999, currency: 'EUR' })
console.log(`order ${order.id} is ${order.status}`)

const paid = await orders.act(order.id, 'pay')
console.log(`order ${paid.id} is ${paid.status}`)

let total = 0
for await (const { amount } of orders.list({ status: 'paid', id: { gte: order.id } })) {
  total += amount // fetches page after page
}
console.log(`paid: ${total}`)

try {
  await orders.act(order.id, 'pay')
} catch (error) {
  if (error instanceof GatehookError) console.log(`${error.status} ${error.code}`)
}
