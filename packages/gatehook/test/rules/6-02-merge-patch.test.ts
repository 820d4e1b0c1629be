/**
 * §6.2, RFC 7396: PATCH merges; `null` empties a field that can be empty and is refused by any
 * other.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('only what is named changes; null empties', async ({ post, patch }) => {
  const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
  const made = await post('/api/v2/orders', { user_id: user.id, amount: 5, note: 'x' })
  const path = made.headers.location!
  const type = { 'content-type': 'application/merge-patch+json' }
  const emptied = await patch(path, { note: null }, type)
  assert.equal(emptied.status, 200)
  const { note, updated_at, ...rest } = emptied.body
  const { note: _before, updated_at: _then, ...before } = made.body
  assert.equal(note, null)
  assert.deepEqual(rest, before)
  for (const field of ['amount', 'currency', 'user_id']) {
    const refused = await patch(path, { [field]: null })
    assert.equal(refused.status, 422, field)
    assert.equal(refused.body.errors[0].pointer, `/${field}`)
  }
})

eachService('a patch that changes nothing writes nothing and tells nobody', async (service) => {
  const { post, patch, get } = service
  const made = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  for (const body of [{}, { name: 'Ada' }]) {
    const same = await patch(made.headers.location!, body)
    assert.deepEqual([same.status, same.body], [200, made.body])
  }
  const types = (await get('/events')).body.data.map((event: { type: string }) => event.type)
  assert.deepEqual(types, ['user.created'])
})
