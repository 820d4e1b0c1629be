import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { openTestNode } from './test-node.ts'

eachMigrated('§13 customers are created, listed and updated', async (db, t) => {
  const { send, time } = await openTestNode(db, t)
  const created = await send('POST /admin/customers', { body: { name: 'Ærø Labs' } })
  const { id } = created.body
  assert.deepEqual([created.status, created.headers.location], [201, `/admin/customers/${id}`])
  const expected = {
    id,
    name: 'Ærø Labs',
    contact_email: null,
    external_id: null,
    suspended: false,
    limits: {},
    created_at: new Date(time.nowMs).toISOString(),
    deleting_since: null,
    deleted_rows: 0,
  }
  assert.deepEqual(created.body, expected)
  const { body } = await send('GET /admin/customers?sort=id')
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id).toSorted(),
    [id, 'cus_default'].toSorted(),
  )
  const patch = (change: unknown) => send(`PATCH /admin/customers/${id}`, { body: change })
  const rate = { limit: 10, window_s: 60 }
  const updated = await patch({ name: 'B', limits: { rate_limit: rate } })
  assert.deepEqual(updated.body, { ...expected, name: 'B', limits: { rate_limit: rate } })
  const added = await patch({ limits: { delivery_rate: rate } })
  assert.deepEqual(added.body.limits, { rate_limit: rate, delivery_rate: rate })
  const removed = await patch({ limits: { rate_limit: null } })
  assert.deepEqual(removed.body.limits, { delivery_rate: rate })
  assert.deepEqual((await patch({ limits: null })).body.limits, {})
  assert.deepEqual((await send(`GET /admin/customers/${id}`)).body, { ...expected, name: 'B' })
})

eachMigrated('§13 the contact of a customer is set, changed and removed', async (db, t) => {
  const { send } = await openTestNode(db, t)
  const body = { name: 'Acme', contact_email: 'api@acme.example' }
  const { id, contact_email } = (await send('POST /admin/customers', { body })).body
  assert.equal(contact_email, 'api@acme.example')
  const patch = async (change: unknown) =>
    (await send(`PATCH /admin/customers/${id}`, { body: change })).body.contact_email
  assert.equal(await patch({ name: 'Acme Ltd' }), 'api@acme.example')
  assert.equal(await patch({ contact_email: 'b@acme.example' }), 'b@acme.example')
  assert.equal(await patch({ contact_email: null }), null)
  for (const invalid of ['no address', '', 'a@b@c', `${'x'.repeat(250)}@a.example`]) {
    const change = { body: { contact_email: invalid } }
    assert.equal((await send(`PATCH /admin/customers/${id}`, change)).status, 422, invalid)
  }
})

eachMigrated('§13 invalid customers are 422 with pointers', async (db, t) => {
  const { send } = await openTestNode(db, t)
  const errorPointers = async (line: string, body: unknown) => {
    const reply = await send(line, { body })
    assert.equal(reply.status, 422, JSON.stringify(body))
    return reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)
  }
  const create = 'POST /admin/customers'
  assert.deepEqual(await errorPointers(create, {}), ['/name'])
  assert.deepEqual(await errorPointers(create, { name: ' ', suspended: true }), [
    '/suspended',
    '/name',
  ])
  assert.deepEqual(await errorPointers(create, []), [''])
  const change = 'PATCH /admin/customers/default'
  assert.deepEqual(await errorPointers(change, { suspended: true }), ['/suspended'])
  const invalid = { limits: { rate_limit: { limit: 0, window_s: 1 }, colour: 1 } }
  assert.deepEqual(await errorPointers(change, invalid), [
    '/limits/colour',
    '/limits/rate_limit/limit',
  ])
  assert.equal((await send('PATCH /admin/customers/cus_no', { body: {} })).status, 404)
  const anonymous = await send('GET /admin/customers', { key: undefined })
  assert.equal(anonymous.status, 401)
})

eachMigrated('the keys of a suspended customer are 403 until it is resumed', async (db, t) => {
  const { send, createKey } = await openTestNode(db, t)
  const { body: customer } = await send('POST /admin/customers', { body: { name: 'c' } })
  const { key } = await createKey({ customer: customer.id, mode: 'test' })
  const suspend = (suspended: boolean) =>
    send(`PATCH /admin/customers/${customer.id}`, { body: { suspended } })
  assert.equal((await send('GET /api/protected', { key })).status, 200)
  await suspend(true)
  const { status, body } = await send('GET /api/protected', { key })
  assert.deepEqual([status, body.error], [403, 'customer_suspended'])
  await suspend(false)
  assert.equal((await send('GET /api/protected', { key })).status, 200)
})
