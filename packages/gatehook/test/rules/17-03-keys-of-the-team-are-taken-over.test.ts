/**
 * §17.3: a key of any form that the team has issued is taken over by its SHA-256, and works as
 * before: on every path, in `POST /keys/verify`, with its own limits, addresses and expiry.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { eachService } from '../../../../test/rig/service.ts'
import { generateApiKey } from '../../src/kernel/api-key-format.ts'
import { systemRandom } from '../../src/kernel/random.ts'

const hexOf = (text: string) => createHash('sha256').update(text).digest('hex')

eachService('a key of any form works wherever a generated one does', async (service) => {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const forms = [
    'sk_live_51H8xYz',
    '7f3e9a52-6b0c-4c55-9a0e-1d3f5b7c9e11',
    'a.b.c',
    'short',
    'Zm9v/YmFy+QmF6==',
    'x'.repeat(2000),
    generateApiKey(systemRandom(), 'live'),
  ]
  for (const secret of forms) {
    const members = { name: 'Org', scopes: ['users:read'], hint: secret.slice(-4) }
    const body = { ...members, sha256: hexOf(secret) }
    const created = await operator.post('/admin/keys', body)
    assert.equal(created.status, 201, created.text)
    const { id, hint } = created.body
    assert.deepEqual([hint, 'key' in created.body], [members.hint, false])
    assert.ok(!created.text.includes(body.sha256))
    assert.equal((await service.as(secret).get('/api/v2/users')).status, 200, secret)
    const bearer = { authorization: `ApiKey ${secret}` }
    assert.equal((await service.as(undefined).get('/api/v2/users', bearer)).status, 200)
    const { body: answer } = await operator.post('/keys/verify', { credential: secret })
    assert.deepEqual([answer.active, answer.id, answer.kind], [true, id, 'key'], secret)
    const again = await operator.post('/admin/keys', body)
    assert.deepEqual([again.status, again.body.error], [409, 'conflict'])
    assert.equal((await service.as(`${secret}x`).get('/api/v2/users')).status, 403)
    const search = await operator.get(`/admin/search?q=${encodeURIComponent(members.hint)}`)
    if (members.hint.length >= 4 && /^\w+$/.test(members.hint)) {
      assert.ok(
        search.body.data.some((hit: { id: string }) => hit.id === id),
        secret,
      )
    }
    const rolled = await operator.post(`/admin/keys/${id}/roll`, { overlap_seconds: 0 })
    assert.match(rolled.body.key, /^gk_live_/)
    assert.equal((await service.as(secret).get('/api/v2/users')).status, 403)
    assert.equal((await service.as(rolled.body.key).get('/api/v2/users')).status, 200)
  }
})

eachService('sha256 and hint belong together, and have a form', async (service) => {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const sha256 = hexOf('x')
  const wrong: readonly [pointer: string, members: Record<string, unknown>][] = [
    ['/hint', { sha256 }],
    ['/sha256', { hint: 'a1B2' }],
    ['/sha256', { sha256: `${sha256}0`, hint: 'a1B2' }],
    ['/sha256', { sha256: 'g'.repeat(64), hint: 'a1B2' }],
    ['/hint', { sha256, hint: 'x'.repeat(17) }],
    ['/hint', { sha256, hint: '' }],
    ['/scopes/0', { sha256, hint: 'a1B2', scopes: ['admin'], mode: 'test' }],
  ]
  for (const [pointer, members] of wrong) {
    const body = { name: 'k', scopes: ['users:read'], ...members }
    const { status, body: answer } = await operator.post('/admin/keys', body)
    assert.deepEqual([status, answer.errors?.[0].pointer], [422, pointer], JSON.stringify(members))
  }
  const upper = { name: 'k', scopes: ['users:read'], sha256: sha256.toUpperCase(), hint: 'x' }
  assert.equal((await operator.post('/admin/keys', upper)).status, 201)
  assert.equal((await service.as('x').get('/api/v2/users')).status, 200)
})
