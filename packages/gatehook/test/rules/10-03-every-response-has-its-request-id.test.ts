/** §10.3: every response has `X-Request-Id`, the sent one if valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start, talk } from '../http/rig.ts'

test('a valid request id is returned, otherwise a new one, on every response', async (t) => {
  const { server, port } = await start(t)
  const idOf = async (sent?: string, path = '/api/orders') => {
    const headers = sent === undefined ? {} : { 'x-request-id': sent }
    return (await server.inject({ path, headers })).headers['x-request-id']
  }
  assert.equal(await idOf('Ab.c-_9'), 'Ab.c-_9')
  assert.equal(await idOf('x'.repeat(128), '/nowhere'), 'x'.repeat(128))
  for (const bad of ['x'.repeat(129), 'a b', '', 'a\u00e4', 'a,b']) {
    assert.match(String(await idOf(bad)), /^req_[0-9A-Za-z]{16}$/, bad)
  }
  const ids = [await idOf(), await idOf()]
  for (const id of ids) assert.match(String(id), /^req_[0-9A-Za-z]{16}$/)
  assert.equal(new Set(ids).size, 2, 'each request has its own')
  const [broken] = await talk(port, 'GARBAGE\r\n\r\n')
  assert.match(broken?.headers['x-request-id'] ?? '', /^req_/)
  assert.equal(JSON.parse(broken?.body ?? '').request_id, broken?.headers['x-request-id'])
})
