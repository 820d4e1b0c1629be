import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request, start, talk } from './rig.ts'

test('failures have their headers, and are problem+json on request', async (t) => {
  const { server } = await start(t)
  const plain = await server.inject('/api/users')
  assert.equal(plain.statusCode, 401)
  assert.equal(plain.headers['www-authenticate'], 'ApiKey')
  assert.equal(plain.headers['content-type'], 'application/json')
  const accept = 'application/problem+json'
  const problem = await server.inject({ path: '/api/users', headers: { accept } })
  assert.equal(problem.headers['content-type'], accept)
  assert.equal(problem.json().error, 'unauthorized')
  assert.equal(problem.json().detail, problem.json().message)
  const refused = await server.inject({ path: '/api/orders', headers: { accept: 'text/html' } })
  assert.equal(refused.json().error, 'not_acceptable')
})

test('a bug is a bare 500, and its details are logged', async (t) => {
  const { server } = await start(t)
  for (const method of ['GET', 'PUT', 'POST'] as const) {
    const response = await server.inject({ method, path: '/bug' })
    assert.equal(response.statusCode, 500, method)
    assert.deepEqual(Object.keys(response.json()), ['error', 'message', 'status', 'request_id'])
    assert.doesNotMatch(response.body, /inner secret/)
    assert.equal(response.headers['x-bad'], undefined)
  }
})

test('bodies that are not JSON have their type and their length in bytes', async (t) => {
  const { port } = await start(t)
  const [page] = await talk(port, request('GET /page'))
  assert.equal(page?.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(page?.headers['content-length'], '9')
  assert.equal(page?.body, '<p>ä</p>')
})

test('a key or a cursor in the URL is not logged, in any spelling of its name', async (t) => {
  const rig = await start(t)
  const paths = [
    '/api/users?api_key=gk_secret',
    '/page?%61pi_key=gk_secret',
    '/x?api_key=gk_secret',
  ]
  for (const path of paths) await rig.server.inject(path)
  await rig.server.inject('/api/orders?cursor=opaque&limit=2')
  assert.doesNotMatch(rig.logged(), /gk_secret|opaque/)
  assert.match(rig.logged(), /limit=2/)
})

test('each request is logged in one line with its details', async (t) => {
  const rig = await start(t)
  const headers = { 'x-request-id': 'mine' }
  await rig.server.inject({ path: '/api/v1/orders/7', headers })
  await rig.server.inject({ path: '/bug', headers })
  await rig.server.inject({ path: '/nowhere', headers })
  const lines = rig.lines.filter((line) => line.msg === 'request')
  assert.deepEqual(
    lines.map(({ level, request_id, method, url, route, status }) => [
      level,
      request_id,
      method,
      url,
      route,
      status,
    ]),
    [
      ['info', 'mine', 'GET', '/api/v1/orders/7', '/api/orders/:id', 200],
      ['error', 'mine', 'GET', '/bug', '/bug', 500],
      ['info', 'mine', 'GET', '/nowhere', '*', 404],
    ],
  )
  assert(lines.every((line) => typeof line.ms === 'number'))
  const bug = rig.lines.find((line) => line.msg === 'bug')
  assert.match(JSON.stringify(bug), /inner secret/)
  assert.match(JSON.stringify(bug), /rig\.ts/)
})
