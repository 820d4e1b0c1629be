/** §11.1: administrative operations honor idempotency keys. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { readRequestRecords } from '../storage/request-records.ts'

const body = { name: 'mine', scopes: ['users:read'] }

eachService(
  'two requests with one idempotency key create one API key',
  async ({ as, key, app }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const headers = { 'idempotency-key': 'make-it-once' }
    const before = (await operator.get('/admin/keys?page=1')).body.total
    const created = await operator.post('/admin/keys', body, headers)
    const again = await operator.post('/admin/keys', body, headers)
    assert.equal(created.status, 201)
    assert.deepEqual(again.body, created.body)
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.equal((await operator.get('/admin/keys?page=1')).body.total, before + 1)
    const stored = await readRequestRecords(app.db)
    assert.equal(stored.length, 1)
    const encrypted = Buffer.from(stored[0]!.answer as Uint8Array).toString('latin1')
    assert.ok(!encrypted.includes(created.body.key))
  },
)

eachService(
  'a response with a secret is replayed for an hour',
  async ({ as, key }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const headers = { 'idempotency-key': 'make-it-once' }
    const created = await operator.post('/admin/keys', body, headers)
    await operator.post('/admin/clock', { advance_s: 3601 })
    const again = await operator.post('/admin/keys', body, headers)
    assert.equal(again.status, 201)
    assert.notEqual(again.body.id, created.body.id)
    assert.equal(again.headers['idempotent-replayed'], undefined)
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService(
  'two requests with one idempotency key advance the clock once',
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
