/** §8.1: the path names whole majors; another segment is 400, an unknown major 404. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const malformed = [
  'v1.2.3',
  'v1.2',
  'latest',
  'stable',
  'v01',
  'V1',
  'v0',
  '2',
  '2025-06-01',
  'v1x',
]

eachService('a segment is a declared major, or it is rejected', async ({ get }) => {
  for (const version of ['v1', 'v2']) {
    const { status, headers } = await get(`/api/${version}/users`)
    assert.deepEqual([status, headers['x-api-version']], [200, version])
  }
  for (const segment of malformed) {
    for (const path of ['/users', '/nowhere', '']) {
      const { status, body, headers } = await get(`/api/${segment}${path}`)
      assert.deepEqual([status, body.error], [400, 'invalid_version'], segment + path)
      assert.equal(headers['x-api-version'], undefined)
    }
  }
  for (const segment of ['v3', 'v99', 'v10000000000000000000000']) {
    const { status, body } = await get(`/api/${segment}/users`)
    assert.deepEqual([status, body.error], [404, 'unknown_version'], segment)
  }
})

eachService('the version is validated before credential, method and path', async ({ as }) => {
  const stranger = as(undefined)
  assert.equal((await stranger.get('/api/v9/users')).body.error, 'unknown_version')
  assert.equal((await stranger.send('DELETE', '/api/latest/users')).body.error, 'invalid_version')
  assert.equal((await stranger.get('/api/v1/users')).status, 401)
  // An escaped segment is neither a version nor a path.
  assert.equal((await stranger.get('/api/%761/users')).body.error, 'not_found')
})
