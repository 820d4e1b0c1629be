import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { test } from 'node:test'
import { request, start, talk } from './rig.ts'

test('paths are registered once and served with and without a version segment', async (t) => {
  const { url } = await start(t)
  const cases: [string, string, string | null][] = [
    ['/api/orders', '/api/orders', null],
    ['/api/v1/orders', '/api/orders', 'v1'],
    ['/api/latest/orders/7', '/api/orders/:id', 'latest'],
    ['/api/2026-06-01/orders/a%2Fb/pay', '', null],
    ['/api/%6frders', '/api/orders', null],
  ]
  for (const [path, route, segment] of cases) {
    const response = await fetch(url + path)
    const body = (await response.json()) as Record<string, unknown>
    if (route === '') assert.equal(response.status, 405)
    else assert.deepEqual([body.route, body.segment, body.path], [route, segment, path])
  }
})

test('paths match exactly', async (t) => {
  const { server } = await start(t)
  for (const path of [
    '/api/orders/',
    '/api/v1/orders/',
    '/api/Orders',
    '/API/orders',
    '/api//orders',
    '//api/orders',
    '/api/orders//pay',
    '/api/orders/5/',
    '/api/orders/5/pay/',
    '/api/v1',
    '/api/v1/v1/orders',
    '/api/%761/orders',
    '/api/orders;x=1',
    '/',
  ]) {
    const response = await server.inject({ path, method: 'GET' })
    assert.equal(response.statusCode, 404, path)
    assert.equal(response.json().error, 'not_found', path)
  }
})

test('parameters are decoded, and malformed escapes are 400', async (t) => {
  const { server } = await start(t)
  const ok = await server.inject('/api/orders/a%2Fb%C3%A4%25?x=%2B+&x=2')
  assert.deepEqual(ok.json().params, { id: 'a/bä%' })
  assert.deepEqual(ok.json().query, [
    ['x', '+ '],
    ['x', '2'],
  ])
  for (const path of ['/api/orders/%zz', '/api/orders/%', '/api/orders/%ff', '/api/orders/%00']) {
    const response = await server.inject(path)
    assert.equal(response.statusCode, 400, path)
    assert.equal(response.json().error, 'invalid_request', path)
  }
  for (const path of ['/api/orders?a=%zz', '/api/orders?a=%00', '/api/orders?%ff']) {
    const response = await server.inject(path)
    assert.equal(response.json().error, 'invalid_parameter', path)
  }
  const named = (await server.inject('/api/orders?a=1&b%5Bgt%5D=%00')).json()
  assert.equal(named.errors[0].parameter, 'b[gt]')
})

test('every other method of a path is 405 with Allow', async (t) => {
  const { port } = await start(t)
  for (const method of METHODS.filter((name) => !['CONNECT', 'HEAD'].includes(name))) {
    const [answer] = await talk(port, request(`${method} /api/orders/5`))
    assert(answer)
    const isServed = ['GET', 'PATCH', 'DELETE', 'OPTIONS'].includes(method)
    assert.equal(answer.status === 405, !isServed, method)
    if (!isServed || method === 'OPTIONS') {
      assert.equal(answer.headers.allow, 'GET, HEAD, PATCH, DELETE, OPTIONS', method)
    }
  }
  const [unheard] = await talk(port, request('BREW /api/orders'))
  assert.equal(unheard?.status, 400)
})

test('HEAD is GET without the body, errors included', async (t) => {
  const { port } = await start(t)
  for (const path of ['/api/orders/5', '/api/users', '/nowhere', '/page']) {
    const [get] = await talk(port, request(`GET ${path}`, 'X-Request-Id: same'))
    const bytes = await talk(port, request(`HEAD ${path}`, 'X-Request-Id: same')).catch(String)
    assert(get && Array.isArray(bytes))
    assert.equal(bytes[0]?.status, get.status, path)
    assert.equal(bytes[0]?.headers['content-length'], get.headers['content-length'], path)
    assert.equal(bytes[0]?.headers['content-type'], get.headers['content-type'], path)
    assert.equal(bytes[0]?.body, '')
  }
})

test('the absolute form is accepted, and its authority is the host', async (t) => {
  const { port } = await start(t)
  const [ours] = await talk(port, request('GET http://api.example/api/orders?x=1'))
  assert.equal(JSON.parse(ours?.body ?? '').host, 'api.example')
  const [foreign] = await talk(port, request('GET http://evil.example/api/orders'))
  assert.equal(foreign?.status, 421)
})

test('forwarded headers count only from a trusted proxy', async (t) => {
  const headers = {
    'x-forwarded-for': '203.0.113.9',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'api.example',
  }
  const untrusting = await start(t)
  const direct = await untrusting.server.inject({ path: '/api/orders', headers })
  assert.equal(direct.json().address, '127.0.0.1')
  const { server } = await start(t, { trustProxy: '127.0.0.1' })
  const refused = await server.inject({ path: '/api/orders', headers })
  assert.equal(refused.json().error, 'https_required')
  assert.equal((await server.inject({ path: '/healthz', headers })).statusCode, 200)
  const https = { ...headers, 'x-forwarded-proto': 'https' }
  const secure = await server.inject({ path: '/api/orders', headers: https })
  assert.deepEqual(
    [secure.json().address, secure.json().host, secure.json().secure],
    ['203.0.113.9', 'api.example', true],
  )
  assert.match(String(secure.headers['strict-transport-security']), /^max-age=31536000/)
  const foreign = { ...https, 'x-forwarded-host': 'evil.example' }
  assert.equal((await server.inject({ path: '/api/orders', headers: foreign })).statusCode, 421)
})
