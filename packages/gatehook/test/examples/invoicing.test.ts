/** The example `examples/invoicing`: numbers, money, states and reports, on both databases. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { httpProvider } from '../../examples/invoicing/provider.ts'
import { createInvoicing } from '../../examples/invoicing/service.ts'
import { startProvider } from '../fixtures/provider.ts'

const provider = await startProvider()
after(() => provider.close())

const API = '/api/v2'
const DAY_S = 86_400

interface Office extends TestApp {
  readonly acme: string
  readonly desk: string
  create(name: string, body: object): Promise<Record<string, never>>
  /** Creates an open invoice of 800.00 and its tax of 152.00. */
  invoice(): Promise<Record<string, never>>
  pay(id: string, amount: number, key: string): ReturnType<TestApp['post']>
}

const eachOffice = (title: string, body: (office: Office) => Promise<void>) =>
  eachService(title, async (app) => body(await withProducts(app)), {
    service: createInvoicing(httpProvider(provider.url, 'secret')),
    env: { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
  })

async function withProducts(app: TestApp): Promise<Office> {
  provider.charges.clear()
  const create: Office['create'] = async (name, body) => {
    const reply = await app.post(`${API}/${name}`, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const acme = (await create('customers', { name: 'Acme', email: 'pay@acme.example' })).id!
  const desk = (await create('products', { name: 'Desk', unit_price: 40_000 })).id!
  return {
    ...app,
    acme,
    desk,
    create,
    async invoice() {
      const lines = [{ product_id: desk, quantity: 2 }]
      const { id } = await create('invoices', { customer_id: acme, lines })
      const reply = await app.post(`${API}/invoices/${id}/finalize`)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    },
    pay: (id, amount, key) =>
      app.post(
        `${API}/invoices/${id}/payments`,
        { amount, source: 'card_visa' },
        { 'idempotency-key': key },
      ),
  }
}

eachOffice(
  'drafts have the prices of products, and final invoices numbers without gaps',
  async (office) => {
    const { acme, desk, create } = office
    const lines = [{ product_id: desk, quantity: 2 }]
    const drafts = []
    for (let n = 0; n < 8; n++) drafts.push(await create('invoices', { customer_id: acme, lines }))
    assert.deepEqual([drafts[0]!.total, drafts[0]!.due, drafts[0]!.number], [95_200, 0, null])
    const unknown = await office.post(`${API}/invoices`, {
      customer_id: acme,
      lines: [{ ...lines[0], product_id: 'prod_0VcGBq7XW3uPz6sYkTn2Lb' }],
    })
    assert.equal(unknown.body.errors[0].pointer, '/lines/0/product_id')
    const old = (await create('products', { name: 'Old desk', unit_price: 1, active: false })).id
    const retired = await office.post(`${API}/invoices`, {
      customer_id: acme,
      lines: [lines[0], { product_id: old, quantity: 1 }],
    })
    const [mistake] = retired.body.errors
    assert.deepEqual([retired.status, mistake.pointer], [422, '/lines/1/product_id'])
    const replies = await Promise.all(
      drafts.map(({ id }) => office.post(`${API}/invoices/${id}/finalize`)),
    )
    assert.deepEqual(
      replies.map(({ body }) => body.number).sort(),
      drafts.map((_, n) => `INV-0000${n + 1}`),
    )
    const { id } = drafts[0]!
    const fixed = await office.patch(`${API}/invoices/${id}`, { lines })
    assert.deepEqual([fixed.status, fixed.body.errors[0].code], [422, 'read_only'])
    assert.equal((await office.delete(`${API}/products/${desk}`)).status, 405)
  },
)

eachOffice(
  'partial payments never exceed what is due, and the last one settles',
  async (office) => {
    const { id } = await office.invoice()
    const first = await office.pay(id!, 50_000, 'a')
    assert.deepEqual([first.status, first.body.status], [201, 'succeeded'], first.text)
    const repeat = await office.pay(id!, 50_000, 'a')
    assert.deepEqual([repeat.body.id, provider.charges.size], [first.body.id, 1])
    const more = await office.pay(id!, 50_000, 'b')
    assert.deepEqual([more.status, more.body.details], [409, { due: 45_200 }])
    provider.result = 'declined'
    const refused = await office.pay(id!, 45_200, 'c')
    provider.result = 'succeeded'
    assert.deepEqual([refused.status, refused.body.details.reason], [402, 'no money'])
    const parallel = await Promise.all(['d', 'e', 'f'].map((key) => office.pay(id!, 45_200, key)))
    const statuses = parallel.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 409, 409])
    const paid = (await office.get(`${API}/invoices/${id}`)).body
    assert.deepEqual([paid.status, paid.paid, paid.due], ['paid', 95_200, 0])
    const events = (await office.get('/events?type=invoice.paid')).body.data
    assert.deepEqual(events.length, 1)
    assert.ok(!('internal_note' in events[0].data.object))
  },
)

eachOffice('a credit note lowers what is due, or refunds a payment by a job', async (office) => {
  await office.app.work()
  const { id } = await office.invoice()
  const note = { invoice_id: id, amount: 5_200, reason: 'A scratch' }
  assert.equal((await office.create('credit_notes', note)).number, 'CN-00001')
  const payment = (await office.pay(id!, 90_000, 'all')).body
  assert.equal((await office.get(`${API}/invoices/${id}`)).body.status, 'paid')
  const refund = await office.create('credit_notes', { ...note, refund_of: payment.id })
  const refunded = await eventually(
    async () => (await office.get(`${API}/credit_notes/${refund.id}`)).body.refund_id,
    (refundId) => refundId !== null,
  )
  assert.match(refunded, /^ch_/)
  const more = await office.post(`${API}/credit_notes`, {
    ...note,
    refund_of: payment.id,
    amount: 90_000,
  })
  assert.deepEqual([more.status, more.body.details], [409, { due: 84_800 }])
})

eachOffice(
  'invoices become overdue in the zone of the business, and reminders follow',
  async (office) => {
    const { id } = await office.invoice()
    const operator = office.as(await office.key({ scopes: ['admin'], mode: 'live' }))
    await office.app.jobs.openSchedules()
    const advance = async (days: number) => {
      await operator.post('/admin/clock', { advance_s: days * DAY_S, freeze: true })
      await office.app.jobs.runDue()
    }
    const statusOf = async () => (await office.get(`${API}/invoices/${id}`)).body.status
    await advance(13)
    assert.equal(await statusOf(), 'open')
    await advance(3)
    assert.equal(await statusOf(), 'overdue')
    await advance(14)
    const [reminder] = (await office.get('/events?type=invoice.reminder')).body.data
    assert.equal(reminder.data.object.id, id)
  },
)

eachOffice(
  'reports, filters, expansions, CSV and the former version read the same rows',
  async (office) => {
    const { id } = await office.invoice()
    await office.create('customers', { name: 'Zeta', email: 'z@zeta.example' })
    const query = 'customer.name=Acme&sort=-customer.name&expand=customer,lines.product'
    const [row] = (await office.get(`${API}/invoices?${query}`)).body.data
    assert.deepEqual([row.customer.name, row.lines[0].product.name], ['Acme', 'Desk'])
    assert.deepEqual((await office.get(`${API}/invoices?customer.name=Zeta`)).body.data, [])
    const receivables = await office.get(`${API}/reports/receivables`)
    assert.equal(receivables.status, 200, receivables.text)
    const [owing] = receivables.body.customers
    assert.deepEqual(owing, { id: office.acme, name: 'Acme', open: 1, due: 95_200 })
    const revenue = await office.get(`${API}/reports/revenue`)
    assert.equal(revenue.status, 200, revenue.text)
    const [sold] = revenue.body.products
    assert.deepEqual(sold, { id: office.desk, name: 'Desk', sold: 2, net: 80_000 })
    const csv = await office.get(`${API}/invoices?status=open`, { accept: 'text/csv' })
    assert.match(csv.text, /^id,customer_id,number,.*\r?\ninv_.*INV-00001/s)
    await office.patch(`${API}/invoices/${id}`, { note: 'Thanks', internal_note: 'late payer' })
    const old = (await office.get(`/api/v1/invoices/${id}`)).body
    assert.deepEqual([old.memo, old.note], ['Thanks', undefined])
    const clerk = office.as(await office.key({ scopes: ['invoices:read'] }))
    const clerksRow = (await clerk.get(`${API}/invoices/${id}`)).body
    assert.ok(!('internal_note' in clerksRow) && !('reserved' in clerksRow))
    assert.equal((await clerk.get(`${API}/reports/revenue`)).status, 403)
  },
)
