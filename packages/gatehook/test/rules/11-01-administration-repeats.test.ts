/** §11.1: acts of administration are repeated as little as any other POST. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const body = { name: 'mine', scopes: ['users:read'] }

eachService('a key made twice with one idempotency key is one key', async ({ as, key, app }) => {
  const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
  const headers = { 'idempotency-key': 'make-it-once' }
  const before = (await operator.get('/admin/keys?page=1')).body.total
  const made = await operator.post('/admin/keys', body, headers)
  const again = await operator.post('/admin/keys', body, headers)
  assert.equal(made.status, 201)
  assert.deepEqual(again.body, made.body)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal((await operator.get('/admin/keys?page=1')).body.total, before + 1)
  const stored = await app.db.arrays({
    sql: 'SELECT answer FROM gh_idempotency',
    text: 'SELECT answer FROM gh_idempotency',
    values: [],
  })
  assert.equal(stored.length, 1)
  const sealed = Buffer.from(stored[0]![0] as Uint8Array).toString('latin1')
  assert.ok(!sealed.includes(made.body.key))
})

eachService(
  'the repeat of an answer with a secret is kept for an hour',
  async ({ as, key }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const headers = { 'idempotency-key': 'make-it-once' }
    const made = await operator.post('/admin/keys', body, headers)
    await operator.post('/admin/clock', { advance_s: 3601 })
    const again = await operator.post('/admin/keys', body, headers)
    assert.equal(again.status, 201)
    assert.notEqual(again.body.id, made.body.id)
    assert.equal(again.headers['idempotent-replayed'], undefined)
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService(
  'the clock set forward twice with one idempotency key goes forward once',
  async ({ as, key }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const headers = { 'idempotency-key': 'a-day-later' }
    const forward = { advance_s: 3600, freeze: true }
    const set = await operator.post('/admin/clock', forward, headers)
    const again = await operator.post('/admin/clock', forward, headers)
    assert.deepEqual([again.status, again.body], [200, set.body])
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.deepEqual((await operator.get('/admin/clock')).body, set.body)
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)
