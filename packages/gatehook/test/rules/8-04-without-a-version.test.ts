/** §8.4: without a requested version, the pin or the oldest served version; strict mode: 400. */
import assert from 'node:assert/strict'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'
import { eachService } from '../../../../test/rig/service.ts'

eachFrozen('the pin, else the oldest served version', async (service) => {
  const { get, as, key, at, announce, app } = service
  const served = async (caller: { get: typeof get }) =>
    (await caller.get('/api/users')).headers['x-api-version']
  const pinned = as(await key({ api_version: 'v2' }))
  const old = as(await key({ api_version: 'v1' }))
  assert.deepEqual([await served(service), await served(pinned)], ['v1', 'v2'])
  assert.equal((await pinned.get('/api/users?v=1')).headers['x-api-version'], 'v1')
  assert.equal((await announce('v1', { sunset_at: '2027-06-01' })).status, 200)
  await at('2027-06-01T00:00:00Z')
  assert.equal(await served(service), 'v2')
  // A pin is an explicit choice, so no other version replaces it.
  const gone = await old.get('/api/users')
  assert.deepEqual([gone.status, gone.headers['x-api-version']], [410, 'v1'])
  assert.equal(app.versioning.servedSuccessor('v1'), 'v2')
})

eachService('a rejected request names the oldest version', async ({ as, send }) => {
  const { status, headers } = await as(undefined).get('/api/users')
  assert.deepEqual([status, headers['x-api-version']], [401, 'v1'])
  const method = await send('DELETE', '/api/users')
  assert.deepEqual([method.status, method.headers['x-api-version']], [405, 'v1'])
})

eachService(
  'strict mode requires a version or a pinned credential',
  async ({ get, as, key, send }) => {
    for (const path of ['/api/users', '/api/protected']) {
      const { status, body, headers } = await get(path)
      assert.deepEqual([status, body.error], [400, 'version_required'], path)
      assert.equal(headers['x-api-version'], undefined)
    }
    assert.equal((await get('/api/users?version=v1')).status, 200)
    assert.equal((await get('/api/v1/users')).status, 200)
    const pinned = await as(await key({ api_version: 'v2' })).get('/api/users')
    assert.deepEqual([pinned.status, pinned.headers['x-api-version']], [200, 'v2'])
    assert.equal((await as(undefined).get('/api/users')).status, 401)
    assert.equal((await send('OPTIONS', '/api/users')).status, 204)
  },
  { env: { GATEHOOK_STRICT_VERSION: '1' } },
)
