/**
 * §10.4: NUL, invalid UTF-8, huge numbers, deep JSON, duplicate and prototype keys are 4xx on both
 * databases.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const user = (name: string) => `{"name":${name},"email":"a@example.com"}`
const bodies = [
  user('"\\u0000"'),
  user('"a\\ud800"'),
  user('"a","name":"b"'),
  '{"__proto__":{"name":"x"},"name":"a","email":"a@example.com"}',
  '{"constructor":{"prototype":{}},"name":"a","email":"a@example.com"}',
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  user('1e999'),
  user('NaN'),
  '{"user_id":99999999999999999999,"amount":1}',
  '\ufeff',
  '',
  'null',
  '[]',
]
const ids = [
  '0',
  '-1',
  '01',
  '1.0',
  '1e3',
  '9007199254740993',
  '99999999999999999999',
  '%00',
  '1%00',
  'a',
  '1;--',
  '%F0%9F%98%80',
  '%ff',
]
const values = ['%00', '%ff', '1%00', '9007199254740993', '-0', '1e3', "'", '%F0%9F%98%80', '']

eachService('hostile bodies are 4xx, and no row is stored', async ({ post, get, send }) => {
  for (const body of bodies) {
    for (const path of ['/api/v2/users', '/api/v1/orders']) {
      const { status, text } = await post(path, body)
      assert.ok(status >= 400 && status < 500, `${path} ${body.slice(0, 40)}: ${status} ${text}`)
    }
  }
  for (const id of ids) {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status } = await send(
        method,
        `/api/v2/users/${id}`,
        method === 'PATCH' ? {} : undefined,
      )
      assert.ok(status === 404 || status === 400, `${method} ${id}: ${status}`)
    }
    const event = await get(`/events/${id}`)
    assert.ok(event.status === 404 || event.status === 400, `event ${id}: ${event.status}`)
  }
  for (const value of values) {
    for (const name of [
      'id',
      'email',
      'name',
      'created_at',
      'sort',
      'cursor',
      'limit',
      'fields',
      value,
    ]) {
      const { status, text } = await get(`/api/v2/users?${name}=${value}`)
      assert.ok(status < 500, `${name}=${value}: ${status} ${text}`)
    }
  }
  assert.equal((await get('/api/v2/users?pagination=page')).body.total, 0)
  assert.equal((await get('/events?pagination=page')).body.total, 0)
})

eachService('SQL and JavaScript in values are stored as text', async ({ post, get }) => {
  for (const [n, name] of [
    "'; DROP TABLE users; --",
    '__proto__',
    '%s $1 ?',
    '\\',
    '"',
    '<b>',
    '\u2028',
  ].entries()) {
    const created = await post('/api/v2/users', { name, email: `u${n}@example.com` })
    assert.deepEqual([created.status, created.body.name], [201, name])
    const list = await get(`/api/v2/users?name=${encodeURIComponent(name)}`)
    assert.deepEqual(list.body.data, [created.body])
  }
})
