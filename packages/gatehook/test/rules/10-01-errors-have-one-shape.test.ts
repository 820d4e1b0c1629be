/** §10.1: one envelope for every error; RFC 9457 on request. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { failures } from '../../src/kernel/failure.ts'

const calls: [
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
  status: number,
][] = [
  ['GET', '/api/v2/users?limit=0', undefined, {}, 400],
  ['POST', '/api/v2/users', '{"name":', {}, 400],
  ['GET', '/api/v2/users', undefined, { 'x-api-key': '' }, 403],
  ['GET', '/api/v2/users', undefined, { 'x-api-key': 'gk_test_wrong' }, 403],
  ['GET', '/api/v2/users/77', undefined, {}, 404],
  ['GET', '/api/v2/nothing', undefined, {}, 404],
  ['PUT', '/api/v2/users', {}, {}, 405],
  ['GET', '/api/v2/users', undefined, { accept: 'text/html' }, 406],
  [
    'POST',
    '/api/v2/orders/1/pay',
    'a=b',
    { 'content-type': 'application/x-www-form-urlencoded' },
    415,
  ],
  ['POST', '/api/v2/users', {}, {}, 422],
]

eachService('every error has both formats', async ({ send }) => {
  for (const [method, path, body, headers, status] of calls) {
    const plain = await send(method, path, body, headers)
    const label = `${method} ${path}: ${plain.text}`
    assert.equal(plain.status, status, label)
    assert.match(plain.headers['content-type']!, /^application\/json\b/, label)
    assert.equal(plain.body.status, status)
    assert.equal(failures[plain.body.error as keyof typeof failures][0], status, label)
    assert.equal(plain.body.request_id, plain.headers['x-request-id'])
    assert.ok(plain.body.message.length > 0)
    const members = ['error', 'message', 'status', 'request_id', 'documentation', 'errors']
    for (const name of Object.keys(plain.body))
      assert.ok(members.includes(name), `${label} ${name}`)
    for (const error of plain.body.errors ?? []) {
      assert.ok(
        (error.pointer ?? error.parameter) !== undefined && error.code && error.message,
        label,
      )
    }
    if (status === 405) assert.equal(plain.headers.allow, 'GET, HEAD, POST, OPTIONS')
    if (status === 406) continue
    const problem = await send(method, path, body, {
      ...headers,
      accept: 'application/problem+json',
    })
    assert.match(problem.headers['content-type']!, /^application\/problem\+json\b/, label)
    assert.equal(problem.status, status)
    assert.equal(problem.body.error, plain.body.error)
    for (const name of ['type', 'title', 'detail', 'status'])
      assert.ok(name in problem.body, `${label} ${name}`)
  }
})
