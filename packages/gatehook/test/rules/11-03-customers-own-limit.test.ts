/** §11.3, §13: a customer's own request limit overrides that of the installation. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService(
  'a limit of one customer does not change those of others',
  async ({ as, key }) => {
    const operator = as(await key({ scopes: ['admin'], mode: 'live' }))
    const { id } = (await operator.post('/admin/customers', { name: 'small' })).body
    const limits = { rate_limit: { limit: 2, window_s: 60 } }
    assert.equal((await operator.patch(`/admin/customers/${id}`, { limits })).status, 200)
    const small = as(await key({ customer: id }))
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await small.get('/api/v2/protected')).status)
    assert.deepEqual(statuses, [200, 200, 429])
    const refused = await small.get('/api/v2/protected')
    assert.equal(refused.headers['ratelimit-policy'], '"default";q=2;w=60')
    assert.equal((await operator.get('/api/v2/protected')).status, 200)
  },
  { env: { GATEHOOK_RATE_LIMIT: '1000/60' } },
)
