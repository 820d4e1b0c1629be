/** §3.10: a key made or revoked is told to its customer and mode, without its secret. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { signing } from '../people/rig.ts'

eachService('`key.created` and `key.revoked`, in the transaction of the act', async (service) => {
  const { operator } = await signing(service)
  const wish = { name: 'CI', scopes: ['events:read'], mode: 'test' }
  const made = await operator.post('/admin/keys', wish)
  const refused = await operator.post('/admin/keys', { ...wish, scopes: ['x:y'] })
  assert.equal(refused.status, 422)
  assert.equal((await operator.delete(`/admin/keys/${made.body.id}`)).status, 204)
  assert.equal((await operator.delete(`/admin/keys/${made.body.id}`)).status, 404)
  const { data } = (await service.get('/events')).body
  assert.deepEqual(
    data.map((event: { type: string }) => event.type),
    ['key.created', 'key.revoked'],
  )
  const { key, ...shown } = made.body
  for (const event of data) assert.deepEqual(event.data.object, shown)
  assert.ok(!JSON.stringify(data).includes(key))
  const live = service.as(await service.key({ mode: 'live' }))
  assert.deepEqual((await live.get('/events')).body.data, [])
})
