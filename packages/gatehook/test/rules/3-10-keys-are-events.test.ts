/** §3.10: creating and revoking a key emits an event in its customer and mode. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { openPeople } from '../people/rig.ts'

eachService(
  '`key.created` and `key.revoked` contain the key without its secret',
  async (service) => {
    const { operator } = await openPeople(service)
    const input = { name: 'CI', scopes: ['events:read'], mode: 'test' }
    const created = await operator.post('/admin/keys', input)
    const rejected = await operator.post('/admin/keys', { ...input, scopes: ['x:y'] })
    assert.equal(rejected.status, 422)
    assert.equal((await operator.delete(`/admin/keys/${created.body.id}`)).status, 204)
    assert.equal((await operator.delete(`/admin/keys/${created.body.id}`)).status, 404)
    const { data } = (await service.get('/events')).body
    assert.deepEqual(
      data.map((event: { type: string }) => event.type),
      ['key.created', 'key.revoked'],
    )
    const { key, ...representation } = created.body
    for (const event of data) assert.deepEqual(event.data.object, representation)
    assert.ok(!JSON.stringify(data).includes(key))
    const live = service.as(await service.key({ mode: 'live' }))
    assert.deepEqual((await live.get('/events')).body.data, [])
  },
)
