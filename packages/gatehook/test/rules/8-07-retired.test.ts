/** §8.7: a retired version returns 410 for every request; a brownout does for its window. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { eachFrozen } from '../../../../test/rig/frozen-service.ts'

const guide = 'https://docs.example.com/to-v2'
const calendar = { deprecated_at: '2027-01-01', sunset_at: '2027-07-01', migration_guide: guide }
const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }

eachFrozen('the 410 has four fields, for every method, path and credential', async (service) => {
  const { announce, at, get, send, as } = service
  await announce('v1', calendar)
  await at('2027-06-30T23:59:59.999Z')
  assert.equal((await get('/api/v1/users')).status, 200)
  await at('2027-07-01T00:00:00Z')
  const paths = [
    '/api/v1/users',
    '/api/v1/users/1',
    '/api/v1/nowhere/at/all',
    '/api/v1',
    '/api/v1/',
  ]
  const wrong = as(`gk_live_${createHash('sha256').update('x').digest('hex')}`)
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      for (const caller of [service, as(undefined), wrong]) {
        const { status, body, headers } = await caller.send(method, path)
        assert.equal(status, 410, `${method} ${path}`)
        assert.deepEqual(Object.keys(body).sort(), [
          'documentation',
          'error',
          'message',
          'upgrade_url',
        ])
        assert.deepEqual([body.error, body.documentation], ['api_version_retired', guide])
        assert.match(body.upgrade_url, /^http:\/\/.*\/api\/v2$/)
        assert.match(body.message, /v1.*2027-07-01.*v2/)
        assert.deepEqual([headers['x-api-version'], headers.deprecation], ['v1', '@1798761600'])
        assert.equal(headers['content-type'], 'application/json')
      }
    }
  }
  const head = await send('HEAD', '/api/v1/users')
  assert.deepEqual([head.status, head.text], [410, ''])
  const named = await get('/api/users/1', { 'x-api-version': 'v1', accept: 'text/html' })
  assert.equal(named.status, 410)
  assert.equal((await send('OPTIONS', '/api/v1/users', undefined, preflight)).status, 204)
  assert.equal((await get('/api/v2/users')).status, 200)
  assert.equal((await get('/events')).status, 200)
})

eachFrozen(
  'a malformed request of a retired version gets the same 410',
  async ({ announce, at, get }) => {
    const paths = ['/api/v1/%00', '/api/v1/users/%zz', '/api/v1/users?name=%zz']
    await announce('v1', calendar)
    await at('2027-06-30T23:59:59.999Z')
    for (const path of paths) {
      const { status, headers } = await get(path)
      assert.deepEqual([status, headers.deprecation], [400, '@1798761600'], path)
    }
    await at('2027-07-01T00:00:00Z')
    for (const path of paths)
      assert.equal((await get(path)).body.error, 'api_version_retired', path)
  },
)

eachFrozen('a retired version reads and changes nothing', async (service) => {
  const { announce, get, post } = service
  await announce('v1', { sunset_at: '2026-12-01', force: true })
  const createReply = await post('/api/v1/users', { name: 'A', email: 'a@example.com' })
  assert.equal(createReply.status, 410)
  assert.equal((await post('/api/v1/users', '{broken')).status, 410)
  assert.equal((await get('/api/v2/users?pagination=page')).body.total, 0)
})

eachFrozen('the default guide is the docs of the successor', async (service) => {
  await service.announce('v1', { sunset_at: '2026-12-01', force: true })
  assert.match((await service.get('/api/v1/users')).body.documentation, /^http.*\/docs\/v2$/)
})

eachFrozen('a brownout is a temporary 410', async (service) => {
  const { announce, at, get, send, as } = service
  const window = { start: '2027-05-01T10:00:00Z', end: '2027-05-01T11:00:00Z' }
  await announce('v1', { ...calendar, brownouts: [window] })
  await at('2027-05-01T09:59:59.999Z')
  assert.equal((await get('/api/v1/users')).status, 200)
  await at('2027-05-01T10:30:00Z')
  for (const caller of [service, as(undefined)]) {
    const { status, body, headers } = await caller.get('/api/v1/nowhere')
    assert.deepEqual([status, body.error, body.status], [410, 'api_version_brownout', 410])
    assert.equal(headers['retry-after'], '1800')
    assert.match(body.upgrade_url, /\/api\/v2$/)
    assert.equal(body.request_id, headers['x-request-id'])
    assert.equal(headers.sunset, 'Thu, 01 Jul 2027 00:00:00 GMT')
  }
  assert.equal((await send('OPTIONS', '/api/v1/users')).status, 410)
  assert.equal((await send('OPTIONS', '/api/v1/users', undefined, preflight)).status, 204)
  assert.equal((await get('/api/users')).body.error, 'api_version_brownout', 'the default version')
  const accept = 'application/problem+json'
  const problem = await get('/api/v1/users', { accept })
  assert.deepEqual([problem.headers['content-type'], problem.status], [accept, 410])
  assert.match(problem.body.upgrade_url, /\/api\/v2$/)
  await at('2027-05-01T11:00:00Z')
  assert.equal((await get('/api/v1/users')).status, 200)
})
