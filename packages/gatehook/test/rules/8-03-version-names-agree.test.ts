/** §8.3: all names of a version in a request must agree, including the path. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('different names of one version agree', async ({ get }) => {
  const headers = { 'x-api-version': '2', 'api-version': '2026-06-01' }
  const accept = 'application/vnd.gatehook.api.v2+json'
  const reply = await get('/api/v2/users?version=v2&v=2', { ...headers, accept })
  assert.deepEqual([reply.status, reply.headers['x-api-version']], [200, 'v2'], reply.text)
})

eachService('a conflict names both parts of the request', async ({ get, as }) => {
  const refused = async (path: string, headers?: Record<string, string>) => {
    const { status, body } = await as(undefined).get(path, headers)
    assert.deepEqual([status, body.error], [400, 'version_conflict'], path)
    return body.message as string
  }
  assert.match(await refused('/api/v1/users?version=v2'), /v1 in the path and v2 in the param/)
  assert.match(
    await refused('/api/users?v=1', { 'api-version': 'v2' }),
    /v1 in the parameter v and v2 in API-Version/,
  )
  const accept = 'application/vnd.gatehook.api.v1+json'
  await refused('/api/v2/users', { accept })
  await refused('/api/users', { accept, 'x-api-version': 'v2' })
  await refused('/api/users', { 'x-api-version': 'v1, v2' })
  await refused('/api/v1/nowhere?version=v2')
  assert.equal((await get('/api/users?version=v1', { 'x-api-version': 'v1, v1' })).status, 200)
})

eachService('a release date names exactly its version', async ({ get }) => {
  const served = async (date: string) => {
    const { status, headers, body } = await get(`/api/protected?version=${date}`)
    return status === 200 ? headers['x-api-version'] : body.error
  }
  assert.equal(await served('2025-06-01'), 'v1')
  assert.equal(await served('2026-06-01'), 'v2')
  for (const date of ['2025-06-02', '2026-05-31', '2030-01-01']) {
    assert.equal(await served(date), 'unsupported_version', date)
  }
  for (const text of ['2025-6-1', '2025-02-30', '20250601', '2025-06-01T00:00:00Z']) {
    const expected = text === '20250601' ? 'unsupported_version' : 'invalid_version'
    assert.equal(await served(text), expected, text)
  }
})
