/**
 * A marketplace: sellers, products with a search, orders that reserve their stock, and payments
 * through a provider.
 */
import { event, Failure, f, failure, fields, job, resource, service, sql, table } from 'gatehook'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const

export const sellers = resource('sellers', {
  fields: {
    id: f.id(),
    name: f.string().min(1).max(100),
    email: f.email().unique(),
    payout_account: f.string().max(40).writeOnly().nullable().default(null),
    created_at: f.createdAt(),
  },
  list: { filter: ['email'], sort: ['name', 'created_at'] },
  access: access('sellers'),
  events: ['seller.created', 'seller.updated', 'seller.deleted'],
}).sample((n) => ({ name: `Seller ${n}`, email: `seller${n}@example.com` }))

export const products = resource('products', {
  fields: {
    id: f.id(),
    seller_id: f.ref('sellers'),
    title: f.string().min(1).max(200),
    description: f.string().max(2000).default(''),
    tags: f.array(f.string().max(30), { max: 10 }).default([]),
    price: f.decimal(10, 2).min(0),
    cost: f.decimal(10, 2).min(0).default('0.00').visible('products:write'),
    stock: f.int().min(0).default(0),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: { filter: ['seller_id', 'price', 'stock'], sort: ['price', 'created_at'] },
  search: ['title', 'description'],
  batch: true,
  access: access('products'),
  events: ['product.created', 'product.updated', 'product.deleted'],
}).sample((n) => ({ title: `Product ${n}`, price: `${1 + (n % 99)}.50`, stock: 1_000 }))

const line = f.object({
  product_id: f.ref('products'),
  quantity: f.int().min(1).max(1_000),
  price: f.decimal(10, 2).default('0.00').describe('Of one piece, when it was ordered.'),
})

export const orders = resource('orders', {
  fields: {
    id: f.id(),
    buyer: f.email(),
    lines: f.array(line, { min: 1, max: 50 }),
    status: f.oneOf(['new', 'paying', 'paid', 'expired']).default('new').readonly(),
    total: f.decimal(15, 2).default('0.00').readonly(),
    metadata: f.metadata(),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: { filter: ['buyer', 'status', 'metadata', 'created_at'], sort: ['created_at'] },
  access: { read: 'orders:read', create: 'orders:write', update: false, delete: false },
  events: ['order.created'],
})
  .rule('create', async ({ tx, lock, after }) => {
    const priced = []
    let cents = 0
    // All transactions lock products in the order of their ids, so that none waits in a circle.
    for (const item of after.lines.toSorted((a, b) => a.product_id - b.product_id)) {
      const product = await lock(products, item.product_id)
      if (product.stock < item.quantity) {
        throw new Failure('conflict', `Of product ${product.id}, ${product.stock} remain.`)
      }
      await tx.update(products, product.id, { stock: product.stock - item.quantity })
      cents += Math.round(Number(product.price) * 100) * item.quantity
      priced.push({ ...item, price: product.price })
    }
    return { lines: priced, total: (cents / 100).toFixed(2) }
  })
  // During a payment the order does not expire.
  .action('begin_payment', { scope: false, from: ['new'], to: 'paying' })
  .action('end_payment', { scope: false, from: ['paying'], to: 'new' })
  .action('pay', { scope: false, from: ['paying'], to: 'paid', emits: 'order.paid' })
  .action('expire', { scope: false, from: ['new'], to: 'expired', emits: 'order.expired' })
  .rule('expire', async ({ tx, lock, after }) => {
    for (const { product_id, quantity } of after.lines) {
      const product = await lock(products, product_id)
      await tx.update(products, product_id, { stock: product.stock + quantity })
    }
  })

/** The receipts that were sent; a real service would call its mail provider instead. */
export const receipts = resource('receipts', {
  fields: {
    id: f.id(),
    order_id: f.ref('orders'),
    text: f.string().max(500),
    created_at: f.createdAt(),
  },
  list: { filter: ['order_id'], sort: ['created_at'] },
  unique: [['order_id']],
  access: { read: 'orders:read', create: false, update: false, delete: false },
  events: [],
})

/** Own code emits it when the last piece of a product is ordered. */
const stockEmpty = event('stock.empty', fields({ product_id: f.int() }), { scope: 'products:read' })

const sendReceipt = job('send_receipt', { order_id: f.int() })

/** The provider of payments; a second request with the same key returns the first charge. */
const { PAYMENTS_URL = 'https://payments.example' } = process.env
type Charge = { status: 'succeeded' | 'declined'; reason: string | null }

const declined = failure('payment_declined', {
  status: 402,
  message: 'The provider declined the payment.',
  details: fields({ reason: f.string().nullable() }),
})

export const marketplace = service({
  name: 'Marketplace',
  versions: { v1: { released: '2026-01-01' } },
  resources: [sellers, products, orders, receipts],
  events: [stockEmpty],
})
  // Each step is stored before the next line runs. Whatever ends the process or the connection, the
  // engine continues after the last stored step.
  .route({
    method: 'POST',
    path: '/orders/:id/payments',
    scope: 'orders:pay',
    summary: 'Pay an order',
    steps: true,
    input: { source: f.string().min(1).max(100) },
    output: orders,
    failures: [declined, 'invalid_state'],
    async handle({ params, input: { source }, step, write }) {
      const id = Number(params.id)
      const { total } = await write('begin', (tx) => tx.act(orders, id, 'begin_payment'))
      const { status, reason } = await step('charge', async ({ key, fetch }) => {
        const response = await fetch(`${PAYMENTS_URL}/charges`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify({ amount: total, source }),
        })
        // No result: the engine runs the step again, with the same key.
        if (!response.ok) throw new Error(`The provider answered ${response.status}.`)
        return (await response.json()) as Charge
      })
      if (status === 'declined') {
        await write('end', (tx) => tx.act(orders, id, 'end_payment'))
        throw declined({ details: { reason } })
      }
      return { body: await write('pay', (tx) => tx.act(orders, id, 'pay')) }
    },
  })
  .on(orders, 'order.paid', async ({ event, write }) => {
    await write((tx) => tx.enqueue(sendReceipt, { order_id: event.data.object.id }))
  })
  .on(products, 'product.updated', async ({ event, write }) => {
    const { id, stock } = event.data.object
    if (stock === 0) await write((tx) => tx.emit(stockEmpty, { product_id: id }))
  })
  .job(sendReceipt, async ({ input, write }) => {
    await write(async (tx) => {
      // A job runs at least once; a second attempt creates no other receipt.
      if (await tx.find(receipts, { order_id: input.order_id })) return
      const { id, buyer, total } = await tx.get(orders, input.order_id)
      await tx.create(receipts, { order_id: id, text: `Order ${id} of ${buyer}: ${total} paid.` })
    })
  })
  .every('15m', 'expire_orders', async ({ customers, dueAt }) => {
    for await (const { read, write } of customers()) {
      const unpaid = await read.sql.all<{ id: number }>(sql`SELECT id FROM ${table(orders)}
        WHERE status = 'new' AND created_at < ${dueAt - DAY_MS} ORDER BY created_at LIMIT 100`)
      for (const { id } of unpaid) await write((tx) => tx.act(orders, id, 'expire'))
    }
  })

const DAY_MS = 86_400_000
