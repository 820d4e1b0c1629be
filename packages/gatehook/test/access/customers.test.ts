import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { openDesk } from './desk.ts'

eachMigrated('§13 customers are made, listed and changed', async (db, t) => {
  const { ask, time } = await openDesk(db, t)
  const made = await ask('POST /admin/customers', { body: { name: 'Ærø Labs' } })
  const { id } = made.body
  assert.deepEqual([made.status, made.headers.location], [201, `/admin/customers/${id}`])
  const expected = {
    id,
    name: 'Ærø Labs',
    suspended: false,
    limits: {},
    created_at: new Date(time.nowMs).toISOString(),
  }
  assert.deepEqual(made.body, expected)
  const { body } = await ask('GET /admin/customers?sort=id')
  assert.deepEqual(
    body.data.map((each: { id: string }) => each.id).toSorted(),
    [id, 'cus_default'].toSorted(),
  )
  const patch = (change: unknown) => ask(`PATCH /admin/customers/${id}`, { body: change })
  const rate = { limit: 10, window_s: 60 }
  const named = await patch({ name: 'B', limits: { rate_limit: rate } })
  assert.deepEqual(named.body, { ...expected, name: 'B', limits: { rate_limit: rate } })
  const more = await patch({ limits: { delivery_rate: rate } })
  assert.deepEqual(more.body.limits, { rate_limit: rate, delivery_rate: rate })
  const less = await patch({ limits: { rate_limit: null } })
  assert.deepEqual(less.body.limits, { delivery_rate: rate })
  assert.deepEqual((await patch({ limits: null })).body.limits, {})
  assert.deepEqual((await ask(`GET /admin/customers/${id}`)).body, { ...expected, name: 'B' })
})

eachMigrated('what a customer cannot be', async (db, t) => {
  const { ask } = await openDesk(db, t)
  const refused = async (line: string, body: unknown) => {
    const reply = await ask(line, { body })
    assert.equal(reply.status, 422, JSON.stringify(body))
    return reply.body.errors.map((each: { pointer: string }) => each.pointer)
  }
  const make = 'POST /admin/customers'
  assert.deepEqual(await refused(make, {}), ['/name'])
  assert.deepEqual(await refused(make, { name: ' ', suspended: true }), ['/suspended', '/name'])
  assert.deepEqual(await refused(make, []), [''])
  const change = 'PATCH /admin/customers/default'
  assert.deepEqual(await refused(change, { suspended: true }), ['/suspended'])
  const bad = { limits: { rate_limit: { limit: 0, window_s: 1 }, colour: 1 } }
  assert.deepEqual(await refused(change, bad), ['/limits/colour', '/limits/rate_limit/limit'])
  assert.equal((await ask('PATCH /admin/customers/cus_no', { body: {} })).status, 404)
  const anonymous = await ask('GET /admin/customers', { key: undefined })
  assert.equal(anonymous.status, 401)
})

eachMigrated('a suspended customer is 403 until it is not', async (db, t) => {
  const { ask, make } = await openDesk(db, t)
  const { body: customer } = await ask('POST /admin/customers', { body: { name: 'c' } })
  const { key } = await make({ customer: customer.id, mode: 'test' })
  const suspend = (suspended: boolean) =>
    ask(`PATCH /admin/customers/${customer.id}`, { body: { suspended } })
  assert.equal((await ask('GET /api/protected', { key })).status, 200)
  await suspend(true)
  const { status, body } = await ask('GET /api/protected', { key })
  assert.deepEqual([status, body.error], [403, 'customer_suspended'])
  await suspend(false)
  assert.equal((await ask('GET /api/protected', { key })).status, 200)
})
