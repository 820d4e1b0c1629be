/** The example `examples/marketplace`: stock, payments, receipts and expiry, on both databases. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { startProvider } from '../fixtures/provider.ts'

const provider = await startProvider()
after(() => provider.close())
process.env.PAYMENTS_URL = provider.url
const { marketplace } = await import('../../examples/marketplace/service.ts')

const API = '/api/v1'

const eachMarket = (title: string, body: (market: Market) => Promise<void>) =>
  eachService(title, async (app) => body(await withProducts(app)), {
    service: marketplace,
    env: { GATEHOOK_TEST_CLOCK: '1', GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' },
  })

interface Market extends TestApp {
  /** Orders pieces of the products 1 and 2. */
  order(...quantities: number[]): ReturnType<TestApp['post']>
  stockOf(id: number): Promise<number>
}

/** Creates a seller and two products with five pieces each, in a batch. */
async function withProducts(app: TestApp): Promise<Market> {
  const seller = await app.post(`${API}/sellers`, { name: 'Ada', email: 'ada@example.com' })
  const items = ['Lamp of oak', 'Chair of oak'].map((title, n) => ({
    seller_id: seller.body.id,
    title,
    price: `${n + 1}0.50`,
    cost: '4.00',
    stock: 5,
  }))
  const batch = await app.post(`${API}/products/batch`, { items })
  assert.equal(batch.status, 200, batch.text)
  return {
    ...app,
    order: (...quantities) =>
      app.post(`${API}/orders`, {
        buyer: 'grace@example.com',
        lines: quantities.map((quantity, n) => ({ product_id: n + 1, quantity })),
      }),
    stockOf: async (id) => (await app.get(`${API}/products/${id}`)).body.stock,
  }
}

eachMarket('products are listed by words, with their sellers', async ({ get }) => {
  const { body } = await get(`${API}/products?q=oak%20lam&expand=seller`)
  assert.deepEqual(
    body.data.map((row: { title: string; seller: { name: string } }) => [
      row.title,
      row.seller.name,
    ]),
    [['Lamp of oak', 'Ada']],
  )
})

eachMarket('the largest order that the bounds allow has a total', async ({ post, get }) => {
  const { data } = (await get(`${API}/sellers`)).body
  const gold = { seller_id: data[0].id, title: 'Gold', price: '99999999.99', stock: 50_000 }
  const { id } = (await post(`${API}/products`, gold)).body
  const lines = Array.from({ length: 50 }, () => ({ product_id: id, quantity: 1_000 }))
  const { status, body } = await post(`${API}/orders`, { buyer: 'grace@example.com', lines })
  assert.deepEqual([status, body.total], [201, '4999999999500.00'])
})

eachMarket('an order has the prices of its products, and takes their stock', async (market) => {
  const { status, body } = await market.order(2, 1)
  assert.deepEqual([status, body.total, body.lines[1].price], [201, '41.50', '20.50'])
  assert.deepEqual([await market.stockOf(1), await market.stockOf(2)], [3, 4])
  const refused = await market.order(1, 5)
  assert.match(refused.body.message, /Of product 2, 4 remain/)
  assert.equal(await market.stockOf(1), 3)
})

eachMarket('parallel orders never sell more than the stock', async (market) => {
  const replies = await Promise.all(Array.from({ length: 12 }, () => market.order(1)))
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(5).fill(201), ...Array(7).fill(409)])
  assert.equal(await market.stockOf(1), 0)
})

const pay = (market: Market, id: number, key = `pay ${id}`.replaceAll(' ', '-')) =>
  market.post(`${API}/orders/${id}/payments`, { source: 'card' }, { 'idempotency-key': key })

eachMarket('a payment charges once, also after an interruption', async (market) => {
  provider.charges.clear()
  provider.keys.length = 0
  const { id } = (await market.order(2)).body
  provider.status = 500
  assert.deepEqual((await pay(market, id)).body.error, 'request_incomplete')
  assert.equal((await market.get(`${API}/orders/${id}`)).body.status, 'paying')
  provider.status = 200
  const { status, body } = await pay(market, id)
  assert.deepEqual([status, body.status], [200, 'paid'])
  assert.deepEqual([provider.charges.size, new Set(provider.keys).size], [1, 1])
  assert.equal((await pay(market, id, 'another')).body.error, 'invalid_state')
  const second = (await market.order(1)).body
  provider.result = 'declined'
  const refused = await pay(market, second.id)
  provider.result = 'succeeded'
  assert.deepEqual([refused.status, refused.body.details], [402, { reason: 'no money' }])
  assert.equal((await market.get(`${API}/orders/${second.id}`)).body.status, 'new')
})

eachMarket('a paid order has one receipt, and an unpaid one expires in a day', async (market) => {
  await market.app.work()
  const [paid, unpaid] = [(await market.order(1)).body, (await market.order(4)).body]
  assert.equal((await pay(market, paid.id)).status, 200)
  const receipts = await eventually(
    async () => (await market.get(`${API}/receipts`)).body.data,
    (rows) => rows.length > 0,
  )
  assert.deepEqual(
    receipts.map(({ text }: { text: string }) => text),
    [`Order ${paid.id} of grace@example.com: 10.50 paid.`],
  )
  const operator = market.as(await market.key({ scopes: ['admin'], mode: 'live' }))
  await operator.post('/admin/clock', { advance_s: 86_400 })
  await eventually(
    async () => {
      await operator.post('/admin/clock', { advance_s: 900 }) // another run is due
      return (await market.get(`${API}/orders/${unpaid.id}`)).body.status
    },
    (status) => status === 'expired',
  )
  assert.equal(await market.stockOf(1), 4)
})
