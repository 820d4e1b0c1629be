/**
 * Invoicing: customers, products, invoices, partial payments through a provider, credit notes with
 * refunds, reminders, reports. `createInvoicing(provider)` is the service; tests pass a provider of
 * their own.
 */
import type { ServiceTx } from 'gatehook'
import { event, Failure, f, failure, fields, job, resource, service, sql, table } from 'gatehook'
import { counters, nextNumber } from './numbers.ts'
import { httpProvider, type Provider } from './provider.ts'

const TIME_ZONE = 'Europe/Berlin'
const TERM_DAYS = 14
const REMIND_AFTER_DAYS = 7
const DAY_MS = 86_400_000

const dayFormat = new Intl.DateTimeFormat('en-CA', { timeZone: TIME_ZONE, dateStyle: 'short' })
/** The day of an instant, as the business counts days, and a day after or before one. */
const dayOf = (time: number) => dayFormat.format(time)
const dayAfter = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: false,
  }) as const
const cents = () => f.int().min(0).unit('cent')

// Failures

const exceeded = failure('amount_exceeds_due', {
  status: 409,
  message: 'The amount is more than what is due.',
  details: fields({ due: cents() }),
})
const declined = failure('payment_declined', {
  status: 402,
  message: 'The provider declined the payment.',
  details: fields({ payment_id: f.string(), reason: f.string().nullable() }),
})

// Customers and products

export const customers = resource('customers', {
  fields: {
    id: f.id('cust'),
    name: f.string().min(1).max(200),
    email: f.email(),
    created_at: f.createdAt(),
  },
  list: { filter: ['name', 'email'], prefix: ['name'], sort: ['name', 'created_at'] },
  search: ['name', 'email'],
  access: access('customers'),
  events: ['customer.created', 'customer.updated'],
})

export const products = resource('products', {
  fields: {
    id: f.id('prod'),
    name: f.string().min(1).max(200),
    unit_price: f.int().min(1).unit('cent'),
    tax_percent: f.int().min(0).max(30).default(19),
    active: f.bool().default(true),
  },
  list: { filter: ['active'], sort: ['name'] },
  access: access('products'),
  events: ['product.created', 'product.updated'],
})

// Invoices

const line = f.object({
  product_id: f.ref('products', 'prod'),
  quantity: f.int().min(1).max(10_000),
  unit_price: cents().default(0).describe('Of the product, when the draft was last changed.'),
  tax_percent: f.int().min(0).max(30).default(0),
})

type Line = { product_id: string; quantity: number; unit_price: number; tax_percent: number }
const totalOf = (lines: readonly Line[]) =>
  lines.reduce((sum, { quantity, unit_price, tax_percent }) => {
    const net = quantity * unit_price
    return sum + net + Math.round((net * tax_percent) / 100)
  }, 0)

/** Copies prices and taxes of the products into the lines. */
async function priced(tx: ServiceTx, lines: readonly Line[]): Promise<readonly Line[]> {
  const result: Line[] = []
  for (const [n, item] of lines.entries()) {
    const { active, unit_price, tax_percent } = await tx.get(products, item.product_id)
    const mistake = { code: 'invalid_value', message: 'is not for sale' } as const
    const errors = [{ pointer: `/lines/${n}/product_id`, ...mistake }]
    if (!active) throw new Failure('validation_failed', undefined, { errors })
    result.push({ ...item, unit_price, tax_percent })
  }
  return result
}

export const invoices = resource('invoices', {
  fields: {
    id: f.id('inv'),
    customer_id: f.ref('customers', 'cust'),
    number: f.string().max(20).nullable().default(null).readonly().unique(),
    status: f.oneOf(['draft', 'open', 'overdue', 'paid', 'void']).default('draft').readonly(),
    currency: f.currency().default('EUR'),
    lines: f.array(line, { min: 1, max: 100 }),
    total: f.computed(f.int().default(0)).stored(),
    paid: cents().default(0).readonly(),
    credited: cents().default(0).readonly(),
    reserved: cents().default(0).readonly().visible('invoices:internal'),
    due: f.computed(f.int().default(0)).stored(),
    due_on: f.date().nullable().default(null),
    finalized_at: f.time().nullable().default(null).readonly(),
    note: f.string().max(1_000).nullable().default(null),
    internal_note: f.string().max(1_000).default('').visible('invoices:internal'),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: {
    filter: ['customer_id', 'status', 'number', 'due_on', 'customer.name'],
    sort: ['created_at', 'due_on', 'total', 'customer.name', ['status', 'due_on']],
  },
  search: ['number', 'note'],
  export: true,
  access: access('invoices'),
  events: ['invoice.created', 'invoice.updated'],
})
  .compute('total', (row) => totalOf(row.lines))
  .compute('due', ({ status, total, paid, credited }) =>
    status === 'draft' || status === 'void' ? 0 : total - paid - credited,
  )
  .editable(['customer_id', 'currency', 'lines'], { from: ['draft'] })
  .action('finalize', {
    scope: 'invoices:finalize',
    from: ['draft'],
    to: 'open',
    emits: 'invoice.finalized',
    run: ({ row, now }) => ({
      finalized_at: now,
      due_on: row.due_on ?? dayAfter(dayOf(now), TERM_DAYS),
    }),
  })
  .action('void', {
    scope: 'invoices:void',
    from: ['open', 'overdue'],
    to: 'void',
    emits: 'invoice.voided',
  })
  .action('mark_overdue', { scope: false, from: ['open'], to: 'overdue', emits: 'invoice.overdue' })
  .action('settle', { scope: false, from: ['open', 'overdue'], to: 'paid', emits: 'invoice.paid' })
  .rule('create', async ({ tx, after }) => ({ lines: await priced(tx, after.lines) }))
  .rule('update', async ({ tx, after }) =>
    after.status === 'draft' ? { lines: await priced(tx, after.lines) } : undefined,
  )
  .rule('finalize', async ({ tx }) => ({ number: await nextNumber(tx, 'INV') }))
  .rule(
    'void',
    ({ before }) => {
      if (before.paid + before.reserved === 0) return
      throw new Failure('conflict', 'The invoice has payments.')
    },
    { failures: ['conflict'] },
  )
  .before('v2', {
    why: 'A memo is a note, as everywhere else.',
    had: { memo: f.string().max(1_000).nullable().default(null) },
    hadNot: ['note'],
    up: (old) => ({ note: old.memo }),
    down: (row) => ({ memo: row.note }),
    renamed: { memo: 'note' },
  })

/** Own code emits it: a week after the day an invoice was due, and each week after that. */
const reminder = event('invoice.reminder', invoices)

/** Changes the paid, credited or reserved amount. The last cent settles the invoice. */
type Booking = { paid?: number; credited?: number; reserved?: number }
async function book(tx: ServiceTx, invoiceId: string, booking: Booking): Promise<void> {
  const invoice = await tx.lock(invoices, invoiceId)
  if (invoice.status !== 'open' && invoice.status !== 'overdue') {
    throw new Failure('invalid_state', `The invoice is ${invoice.status}.`)
  }
  const { paid = 0, credited = 0, reserved = 0 } = booking
  const free = invoice.due - invoice.reserved
  if (paid + credited + reserved > free) throw exceeded({ details: { due: free } })
  const { due } = await tx.update(invoices, invoiceId, {
    paid: invoice.paid + paid,
    credited: invoice.credited + credited,
    reserved: invoice.reserved + reserved,
  })
  if (due === 0) await tx.act(invoices, invoiceId, 'settle')
}

// Payments

/** Own code creates a payment, which reserves the amount, before the request to the provider. */
export const payments = resource('payments', {
  fields: {
    id: f.id('pay'),
    invoice_id: f.ref('invoices', 'inv'),
    amount: cents(),
    refunded: cents().default(0).readonly(),
    status: f.oneOf(['pending', 'succeeded', 'declined']).default('pending').readonly(),
    charge_id: f.string().max(100).nullable().default(null).visible('invoices:internal'),
    reason: f.string().max(200).nullable().default(null),
    created_at: f.createdAt(),
  },
  list: { filter: ['invoice_id', 'status', 'invoice.customer.name'], sort: ['created_at'] },
  access: { read: 'payments:read', create: false, update: false, delete: false },
  events: ['payment.created'],
})
  .action('succeed', {
    scope: false,
    from: ['pending'],
    to: 'succeeded',
    emits: 'payment.succeeded',
    input: { charge_id: f.string().max(100) },
    run: ({ input }) => ({ charge_id: input.charge_id }),
  })
  .action('decline', {
    scope: false,
    from: ['pending'],
    to: 'declined',
    emits: 'payment.declined',
    input: { reason: f.string().max(200).nullable().default(null) },
    run: ({ input }) => ({ reason: input.reason }),
  })
  .rule('create', ({ tx, after }) => book(tx, after.invoice_id, { reserved: after.amount }))
  .rule('decline', ({ tx, after }) => book(tx, after.invoice_id, { reserved: -after.amount }))
  .rule('succeed', ({ tx, after: { invoice_id, amount } }) =>
    book(tx, invoice_id, { paid: amount, reserved: -amount }),
  )

// Credit notes

const refund = job('refund', { credit_note_id: f.ref('credit_notes', 'cn') })

/** Lowers the amount due, or refunds a payment or a part of it. */
export const creditNotes = resource('credit_notes', {
  fields: {
    id: f.id('cn'),
    invoice_id: f.ref('invoices', 'inv').writeOnce(),
    number: f.string().max(20).nullable().default(null).readonly().unique(),
    amount: f.int().min(1).unit('cent').writeOnce(),
    reason: f.string().min(1).max(500),
    refund_of: f.ref('payments', 'pay').nullable().default(null).writeOnce(),
    refund_id: f.string().max(100).nullable().default(null).readonly(),
    created_at: f.createdAt(),
  },
  list: { filter: ['invoice_id', 'invoice.customer.name'], sort: ['created_at'] },
  export: true,
  access: access('credit_notes'),
  events: ['credit_note.created', 'credit_note.updated'],
}).rule(
  'create',
  async ({ tx, after }) => {
    if (after.refund_of === null) await book(tx, after.invoice_id, { credited: after.amount })
    else {
      const payment = await tx.lock(payments, after.refund_of)
      const isPaid = payment.status === 'succeeded' && payment.invoice_id === after.invoice_id
      const left = isPaid ? payment.amount - payment.refunded : 0
      if (after.amount > left) throw exceeded({ details: { due: left } })
      await tx.update(payments, payment.id, { refunded: payment.refunded + after.amount })
      await tx.enqueue(refund, { credit_note_id: after.id })
    }
    return { number: await nextNumber(tx, 'CN') }
  },
  { failures: [exceeded, 'invalid_state'] },
)

// The service

type Owing = { id: string; name: string; open: number; due: number }
type Sold = { id: string; name: string; sold: number; net: number }

export const createInvoicing = (provider: Provider) =>
  service({
    name: 'Invoicing',
    versions: { v1: { released: '2026-01-01' }, v2: { released: '2026-11-01' } },
    resources: [counters, customers, products, invoices, payments, creditNotes],
    events: [reminder],
  })
    // Each step is stored before the next line runs. Whatever ends the process or the connection,
    // the engine continues after the last stored step.
    .route({
      method: 'POST',
      path: '/invoices/:id/payments',
      scope: 'payments:write',
      summary: 'Pay an invoice, or a part of it',
      steps: true,
      input: { amount: f.int().min(1).unit('cent'), source: f.string().max(100) },
      output: payments,
      status: 201,
      failures: [exceeded, declined, 'invalid_state'],
      async handle({ params, input: { amount, source }, read, step, write }) {
        const { id: invoice_id, currency } = await read('invoice', (r) =>
          r.get(invoices, params.id),
        )
        const { id } = await write('reserve', (tx) => tx.create(payments, { invoice_id, amount }))
        const charge = await step('charge', (effect) =>
          provider.charge({ amount, currency, source }, effect),
        )
        const payment = await write('close', (tx) =>
          charge.status === 'succeeded'
            ? tx.act(payments, id, 'succeed', { charge_id: charge.id })
            : tx.act(payments, id, 'decline', { reason: charge.reason }),
        )
        if (payment.status === 'declined') {
          throw declined({ details: { payment_id: id, reason: payment.reason } })
        }
        return { body: payment }
      },
    })
    .job(refund, async ({ input, read, step, write }) => {
      const { id, amount, refund_of } = await read.get(creditNotes, input.credit_note_id)
      const { charge_id } = await read.get(payments, refund_of!)
      const done = await step('refund', (effect) =>
        provider.refund({ charge: charge_id!, amount }, effect),
      )
      await write('close', (tx) => tx.update(creditNotes, id, { refund_id: done.id }))
    })
    .every(
      '0 6 * * *',
      'mark_overdue',
      async ({ day, write }) => {
        const markSome = async (tx: ServiceTx) => {
          const late = await tx.list(invoices, { filter: { status: 'open', due_on: { lt: day } } })
          for (const { id } of late) await tx.act(invoices, id, 'mark_overdue')
          return late.length
        }
        let marked: number
        do marked = await write(markSome)
        while (marked > 0)
      },
      { timeZone: TIME_ZONE, each: 'customer' },
    )
    .every(
      '0 9 * * mon',
      'remind',
      async ({ day, read, write }) => {
        const since = dayAfter(day, -REMIND_AFTER_DAYS)
        const filter = { status: 'overdue', due_on: { lte: since } } as const
        let page = await read.list(invoices, { filter })
        while (page.length > 0) {
          await write(async (tx) => {
            for (const { id } of page) await tx.emit(reminder, id, { key: `${id} ${day}` })
          })
          page = await read.list(invoices, { filter, after: page.at(-1) })
        }
      },
      { timeZone: TIME_ZONE, each: 'customer' },
    )
    .route({
      method: 'GET',
      path: '/reports/receivables',
      scope: 'reports:read',
      summary: 'What each customer owes, the largest first',
      query: { currency: f.currency().default('EUR') },
      output: {
        as_of: f.time(),
        customers: [f.object({ id: f.string(), name: f.string(), open: f.int(), due: f.int() })],
      },
      async handle({ query, read, now }) {
        const rows = await read.sql.all<Owing>(sql`
          SELECT c.id, c.name, count(*) AS open, sum(i.due) AS due
          FROM ${table(invoices, { as: 'i' })}
          JOIN ${table(customers, { as: 'c' })} ON c.id = i.customer_id
          WHERE i.status IN ('open', 'overdue') AND i.currency = ${query.currency}
          GROUP BY c.id, c.name ORDER BY due DESC, c.id LIMIT 100`)
        return { body: { as_of: now, customers: rows } }
      },
    })
    .route({
      method: 'GET',
      path: '/reports/revenue',
      scope: 'reports:read',
      summary: 'What each product has earned since a day, the most first',
      query: { currency: f.currency().default('EUR'), since: f.time().default(0) },
      output: {
        products: [f.object({ id: f.string(), name: f.string(), sold: f.int(), net: f.int() })],
      },
      async handle({ query, read }) {
        const rows = await read.sql.all<Sold>(sql`
          SELECT p.id, p.name, sum(l.quantity) AS sold, sum(l.quantity * l.unit_price) AS net
          FROM ${table(invoices, { items: 'lines', as: 'l' })}
          JOIN ${table(invoices, { as: 'i' })} ON i.id = l.invoices_id
          JOIN ${table(products, { as: 'p' })} ON p.id = l.product_id
          WHERE i.status IN ('open', 'overdue', 'paid') AND i.currency = ${query.currency}
            AND i.finalized_at >= ${query.since}
          GROUP BY p.id, p.name ORDER BY net DESC, p.id LIMIT 100`)
        return { body: { products: rows } }
      },
    })

const { PROVIDER_URL = 'http://127.0.0.1:9090', PROVIDER_SECRET } = process.env
export const api = createInvoicing(httpProvider(PROVIDER_URL, PROVIDER_SECRET))
