/** §10.5: OPTIONS on every path; CORS as configured, and no credentials with `*`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { start } from '../http/rig.ts'

test('OPTIONS requires no credential; unknown paths are 404', async (t) => {
  const { server } = await start(t)
  const plain = await server.inject({ method: 'OPTIONS', path: '/api/v1/users' })
  assert.deepEqual([plain.statusCode, plain.body], [204, ''])
  assert.equal(plain.headers.allow, 'GET, HEAD, POST, OPTIONS')
  assert.equal((await server.inject({ method: 'OPTIONS', path: '/nowhere' })).statusCode, 404)
  assert.equal((await server.inject({ method: 'DELETE', path: '/api/users' })).statusCode, 405)
})

test('every response has the CORS headers, also rejections and preflights', async (t) => {
  const { server } = await start(t, { origins: 'https://app.example' })
  const headers = { origin: 'https://app.example' }
  for (const path of ['/api/orders', '/api/users', '/nowhere', '/api/orders?a=%zz', '/bug']) {
    const response = await server.inject({ path, headers })
    assert.equal(response.headers['access-control-allow-origin'], headers.origin, path)
    assert.equal(response.headers.vary, 'Origin', path)
  }
  const preflightHeaders = { ...headers, 'access-control-request-method': 'POST' }
  const preflight = await server.inject({
    method: 'OPTIONS',
    path: '/api/users',
    headers: preflightHeaders,
  })
  assert.equal(preflight.statusCode, 204)
  assert.equal(preflight.headers['access-control-allow-methods'], 'GET, HEAD, POST, OPTIONS')
})

const preflightHeaders = {
  origin: 'https://app.example.com',
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'x-api-key, content-type',
}

eachService('without configured origins, responses have no CORS headers', async ({ send }) => {
  const { status, headers } = await send('OPTIONS', '/api/v2/users', undefined, preflightHeaders)
  assert.equal(status, 204)
  assert.equal(headers['access-control-allow-origin'], undefined)
})

eachService(
  'with *, every origin is allowed, without credentials',
  async ({ send, get }) => {
    const preflight = await send('OPTIONS', '/api/v2/users', undefined, preflightHeaders)
    assert.equal(preflight.headers['access-control-allow-origin'], '*')
    const answers = [preflight, await get('/api/v2/users', { origin: preflightHeaders.origin })]
    for (const { headers } of answers) {
      assert.equal(headers['access-control-allow-origin'], '*')
      assert.equal(headers['access-control-allow-credentials'], undefined)
    }
  },
  { env: { GATEHOOK_CORS_ORIGINS: '*' } },
)
