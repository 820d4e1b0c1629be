/**
 * §15.11: each method of a client with the types of a declaration reaches the operation of its
 * name, and responses have the typed form. `test/client/` compiles the types.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { createClient } from '../../../../packages/client/src/client.ts'
import type { Types as OlderHotel } from '../../../../spec/client/bookings-v1.ts'
import { clientOptionsOf } from '../../../../test/rig/client.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { hotel } from '../../examples/bookings/service.ts'
import { startProvider } from '../fixtures/provider.ts'

const provider = await startProvider()
after(() => provider.close())
process.env.PAYMENTS_URL = provider.url
const { marketplace } = await import('../../examples/marketplace/service.ts')

const marketOf = (app: Pick<TestApp, 'send'>) =>
  createClient<typeof marketplace>({ ...clientOptionsOf(app), version: 'v1' })

/** Creates a seller with two products. */
async function withProducts(app: TestApp) {
  const client = marketOf(app)
  const seller = await client.collection('sellers').create({ name: 'Ada', email: 'a@b.example' })
  const products = client.collection('products')
  const common = { seller_id: seller.id, stock: 5, cost: '4.00' }
  const lamp = await products.create({ ...common, title: 'Lamp of oak', price: '10.50' })
  const chair = await products.create({ ...common, title: 'Chair of oak', price: '20.50' })
  return { client, products, seller, lamp, chair }
}

const market = { service: marketplace, env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' } }

eachService(
  'lists filter, sort, search, expand and select by the typed names',
  async (app) => {
    const { products, seller, lamp, chair } = await withProducts(app)
    const titles: string[] = []
    for await (const row of products.list({
      seller_id: seller.id,
      price: { gte: '10.00', in: ['10.50', '20.50'] },
      sort: '-price',
      expand: ['seller'],
      limit: 1,
    })) {
      titles.push(`${row.title} of ${row.seller.name}`)
    }
    assert.deepEqual(titles, ['Chair of oak of Ada', 'Lamp of oak of Ada'])
    const matches = await products.list({ q: 'lam', fields: ['id', 'title'] })
    assert.deepEqual(matches.data, [{ id: lamp.id, title: 'Lamp of oak' }])
    const chairRow = await products.get(chair.id, { expand: 'seller' })
    assert.deepEqual([chairRow.seller.email, chairRow.cost], ['a@b.example', '4.00'])
    assert.ok(chairRow.created_at.endsWith('Z'))
    const changed = await products.update(chair.id, { stock: 4 })
    assert.equal(changed.stock, 4)
    await products.delete(chair.id)
    await assert.rejects(products.get(chair.id), { code: 'not_found' })
  },
  market,
)

eachService(
  'a response lacks what the key does not see, and a write-only field',
  async (app) => {
    const { seller, lamp } = await withProducts(app)
    const reader = marketOf(app.as(await app.key({ scopes: ['products:read'] })))
    assert.equal((await reader.collection('products').get(lamp.id)).cost, undefined)
    assert.equal('payout_account' in seller, false)
  },
  market,
)

eachService(
  'a route sends path, query and body, and its failure has typed details',
  async (app) => {
    const { client, lamp } = await withProducts(app)
    const orders = client.collection('orders')
    const lines = [{ product_id: lamp.id, quantity: 2 }]
    const { id } = await orders.create({ buyer: 'g@b.example', lines, metadata: { color: 'red' } })
    const pay = () =>
      client.route('POST /orders/:id/payments', { params: { id }, input: { source: 'card' } })
    provider.result = 'declined'
    const error: unknown = await pay().catch((reason: unknown) => reason)
    provider.result = 'succeeded'
    assert.ok(client.isError(error, 'payment_declined'))
    assert.deepEqual([error.status, error.details.reason], [402, 'no money'])
    assert.equal(client.isError(error, 'not_found'), false)
    assert.equal(client.isError(new Error('x'), 'payment_declined'), false)
    assert.equal((await pay()).status, 'paid')
    const paid = await orders.list({ status: 'paid', metadata: { color: 'red' } })
    assert.deepEqual(paid.data[0]?.lines, [{ ...lines[0], price: '10.50' }])
    const totals: string[] = []
    for await (const event of client.events.list({ type: 'order.paid' })) {
      totals.push(event.data.object.total)
      assert.equal((await client.events.get(event.id)).type, 'order.paid')
    }
    assert.deepEqual(totals, ['21.00'])
    const types = ['order.created', 'order.paid'] as const
    assert.equal((await client.events.list({ type: { in: types } })).data.length, 2)
    await assert.rejects(client.route('POST /orders/:id/payments', {} as never), TypeError)
  },
  market,
)

eachService(
  'actions, relations and an older version have their own names',
  async (app) => {
    const options = clientOptionsOf(app)
    const older = createClient<OlderHotel>({ ...options, version: 'v1' })
    const newest = createClient<typeof hotel>({ ...options, version: 'v2' })
    const guest = await older
      .collection('guests')
      .create({ first_name: 'Ada', last_name: 'Lovelace', email: 'ada@b.example' })
    assert.equal(guest.first_name, 'Ada')
    const room = await newest.collection('rooms').create({ number: '101', beds: 2 })
    const rate = { room_id: room.id, from_night: '2026-01-01', price: '80.00' }
    await newest.collection('rates').create(rate)
    const bookings = newest.collection('bookings')
    const { id } = await bookings.create({
      room_id: room.id,
      guest_id: guest.id,
      arrives: '2027-01-01',
      departs: '2027-01-02',
    })
    assert.equal((await bookings.act(id, 'arrive')).status, 'arrived')
    const expanded = await bookings.get(id, { expand: ['guest', 'room'] })
    assert.deepEqual([expanded.guest.full_name, expanded.room.number], ['Ada Lovelace', '101'])
    const error: unknown = await bookings.act(id, 'arrive').catch((reason: unknown) => reason)
    assert.ok(newest.isError(error, 'invalid_state'))
  },
  { service: hotel },
)
