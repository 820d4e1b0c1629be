/** §15.6: a repeat between two attempts has the rights of its caller, and a bound. */
import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { payments, places } from '../fixtures/payments.ts'
import { startProvider } from '../fixtures/provider.ts'

const OPTIONS = {
  service: payments,
  env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_TEST_CLOCK: '1' },
}

eachService(
  'a repeat that begins an attempt gets no response that its caller may not see any more',
  async (service, t) => {
    const { url } = await startProvider(t)
    const { id } = (await service.post('/api/v1/orders', { total: 9 })).body
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const given = { name: 'k', scopes: ['r', 'w'], mode: 'test' }
    const { key, id: keyId } = (await admin.post('/admin/keys', given)).body
    const pay = () => {
      const path = `/api/v1/orders/${id}/pay`
      return service.as(key).post(path, { amount: 7, url }, { 'idempotency-key': 'a' })
    }
    places.set('after charge', () => {
      places.delete('after charge')
      throw new Error('fault')
    })
    assert.equal((await pay()).status, 503)
    assert.equal((await admin.patch(`/admin/keys/${keyId}`, { scopes: ['w'] })).status, 200)
    for (let time = 0; time < 2; time++) {
      const reply = await pay()
      assert.deepEqual([reply.status, reply.body.error], [403, 'insufficient_scope'])
    }
    assert.equal((await service.get(`/api/v1/orders/${id}`)).body.paid, 7)
  },
  OPTIONS,
)

eachService(
  'repeats leave the last two attempts to the engine',
  async (service, t) => {
    const provider = await startProvider(t)
    const { id } = (await service.post('/api/v1/orders', { total: 9 })).body
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const pay = () => {
      const body = { amount: 7, url: provider.url }
      return service.post(`/api/v1/orders/${id}/pay`, body, { 'idempotency-key': 'a' })
    }
    provider.status = 500
    for (let time = 0; time < 12; time++) {
      const reply = await pay()
      assert.deepEqual([reply.status, reply.body.error], [503, 'request_incomplete'])
    }
    // The engine's next attempt is an hour away, give or take a fifth.
    const waitS = Number((await pay()).headers['retry-after'])
    assert.ok(waitS > 2_800 && waitS <= 4_320, String(waitS))
    const readJob = async () => (await admin.get('/admin/jobs?kind=request')).body.data[0]
    const { state, attempt } = await readJob()
    assert.deepEqual([state, attempt, provider.keys.length], ['waiting', 8, 8])
    provider.status = 200
    await admin.post('/admin/clock', { advance_s: 2 * 3_600 })
    await service.app.work()
    assert.equal((await eventually(readJob, (job) => job.state === 'done')).attempt, 9)
    const last = await pay()
    assert.deepEqual([last.status, last.headers['idempotent-replayed']], [200, 'true'])
  },
  OPTIONS,
)
