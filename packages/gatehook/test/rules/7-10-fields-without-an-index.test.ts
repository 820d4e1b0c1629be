/** §7.10: a field with `index: false` filters and sorts within the bounds, without an index. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { f, resource, type Service, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { fill } from '../lists/rows.ts'

type Amount = 'amount' | { readonly field: 'amount'; readonly index: false }
const WITHOUT = { field: 'amount', index: false } as const

const shop = (filter: Amount, sort: Amount): Service =>
  service({
    name: 'Shop',
    versions: { v1: { released: '2026-01-01' } },
    resources: [
      resource('orders', {
        fields: { id: f.id(), amount: f.int(), note: f.string().max(40) },
        list: { filter: ['note', filter], sort: ['id', 'note', sort] },
        access: { read: 'orders:read', create: 'orders:write', update: false, delete: false },
        events: [],
      }),
    ],
  })

eachDatabase('a start drops the index of a field with index: false, and creates it', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  const start = async (filter: Amount, sort: Amount) => {
    const progress: string[] = []
    await migrateService(db, shop(filter, sort).definition, (line) => progress.push(line))
    const indexes = await db.indexes('orders')
    return { progress: progress.join(), isIndexed: indexes.includes('orders_by_amount') }
  }
  assert.equal((await start('amount', 'amount')).isIndexed, true)
  assert.deepEqual(
    await start(WITHOUT, 'amount'),
    { progress: '', isIndexed: true },
    'sort needs it',
  )
  const second = await start(WITHOUT, WITHOUT)
  assert.equal(second.isIndexed, false)
  assert.ok(second.progress.includes('index orders_by_amount dropped'), second.progress)
  assert.deepEqual(await start(WITHOUT, WITHOUT), { progress: '', isIndexed: false })
  assert.equal((await start('amount', WITHOUT)).isIndexed, true)
})

eachService(
  'lists filter and sort by it in each style',
  async ({ get, app: { db } }) => {
    await fill(db, 'orders', 60, { amount: '(n * 37) % 60', note: "'n'" })
    const amountsOf = ({ body }: { body: { data: { amount: number }[] } }) =>
      body.data.map(({ amount }) => amount)
    const path = '/api/v1/orders?sort=-amount&limit=3'
    assert.deepEqual(amountsOf(await get(`${path}&offset=2`)), [57, 56, 55])
    assert.deepEqual(amountsOf(await get('/api/v1/orders?sort=amount&page=2&per_page=2')), [2, 3])
    const walk = `${path}&amount[lt]=50`
    const first = await get(`${walk}&pagination=cursor`)
    assert.deepEqual(amountsOf(first), [49, 48, 47])
    const next = await get(`${walk}&cursor=${first.body.next_cursor}`)
    assert.deepEqual(amountsOf(next), [46, 45, 44])
    assert.deepEqual(amountsOf(await get('/api/v1/orders?amount=7')), [7])
  },
  { service: shop(WITHOUT, WITHOUT) },
)

eachService(
  'beyond the bound the error names fields that an index serves',
  async ({ get, app: { db } }) => {
    await fill(db, 'orders', 50_001, { amount: 'n', note: "'n'" })
    for (const query of ['sort=amount', 'amount=60000']) {
      const { status, body } = await get(`/api/v1/orders?${query}`)
      assert.equal(status, 400, query)
      assert.equal(body.error, 'query_too_expensive')
      assert.ok(body.message.toLowerCase().includes('filter by note'), body.message)
      assert.ok(!body.message.includes('amount'), body.message)
    }
  },
  { service: shop(WITHOUT, WITHOUT) },
)
