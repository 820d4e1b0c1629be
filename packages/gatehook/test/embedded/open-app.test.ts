/** `gatehook/app`, which the tests of a project call. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { f, resource, service } from 'gatehook'
import { openApp } from 'gatehook/app'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'
import { api } from '../../service/service.ts'

/** Temporary folders of these tests alone. */
const temporary = emptyFolder({ after })
process.env.TMPDIR = temporary

test('openApp serves without a socket and leaves nothing behind', async () => {
  const app = await openApp({ service: api, seed: true })
  assert.equal(readdirSync(temporary).length, 1)
  try {
    assert.equal((await app.request('/api/v2/users')).status, 401)
    const key = await app.createKey()
    const list = await app.request('/api/v2/users?limit=1', { headers: { 'x-api-key': key } })
    assert.equal(list.status, 200)
    const { data } = (await list.json()) as { data: { id: number }[] }
    assert.equal(data.length, 1)

    const body = { user_id: data[0]?.id, amount: 100, currency: 'EUR' }
    const headers = { 'x-api-key': key, 'idempotency-key': 'order-1' }
    const created = await app.request('/api/v2/orders', { method: 'POST', headers, body })
    assert.equal(created.status, 201)

    const narrow = await app.createKey({ scopes: ['users:read'] })
    const refused = await app.request('/api/v2/orders', { headers: { 'x-api-key': narrow } })
    assert.equal(refused.status, 403)

    const etag = created.headers.get('etag') ?? ''
    const path = created.headers.get('location') ?? ''
    const same = await app.request(path, { headers: { 'x-api-key': key, 'if-none-match': etag } })
    assert.deepEqual([same.status, await same.text()], [304, ''])
  } finally {
    await app.close()
  }
  assert.deepEqual(readdirSync(temporary), [])
})

test('openApp reads only the given environment, and reports every mistake in it', async () => {
  process.env.GATEHOOK_HOST = '0.0.0.0'
  try {
    const env = { GATEHOOK_RATE_LIMIT: 'many', GATEHOOK_LOG_LEVEL: 'loud' }
    await assert.rejects(openApp({ service: api, env }), (error: Error) => {
      assert.match(error.message, /GATEHOOK_RATE_LIMIT/)
      assert.match(error.message, /GATEHOOK_LOG_LEVEL/)
      assert.doesNotMatch(error.message, /GATEHOOK_HOST/)
      return true
    })
  } finally {
    delete process.env.GATEHOOK_HOST
  }
  assert.deepEqual(readdirSync(temporary), [])
})

test('the reason of an error of a route is on standard error by default', async (t) => {
  const failing = service({
    name: 'failing',
    versions: { v1: { released: '2026-01-01' } },
    resources: [],
  })
    .route({
      method: 'GET',
      path: '/violations',
      scope: 'r',
      output: { n: f.int() },
      summary: 'Returns a text.',
      handle: async () => ({ body: { n: 'x' as unknown as number } }),
    })
    .route({
      method: 'GET',
      path: '/failures',
      scope: 'r',
      summary: 'Fails.',
      handle: async () => {
        throw new Error('no ink')
      },
    })
  const linesOf = async (env: Record<string, string>) => {
    const written = t.mock.method(process.stderr, 'write', () => true)
    const app = await openApp({ service: failing, env })
    const headers = { 'x-api-key': await app.createKey() }
    for (const path of ['violations', 'failures', 'unknown']) {
      await app.request(`/api/v1/${path}`, { headers })
    }
    await app.close()
    const lines = written.mock.calls.map(({ arguments: [text] }) => String(text))
    written.mock.restore()
    return lines
  }
  // Each has a line of its request, too.
  const [violation, , failure, , ...others] = await linesOf({})
  assert.match(violation!, /route GET \/violations violates its declaration: \/n/)
  assert.match(failure!, /no ink/)
  assert.deepEqual(others, [])
  assert.deepEqual(await linesOf({ GATEHOOK_LOG_LEVEL: 'silent' }), [])
})

test('a key that the service rejects is an error with the pointer of each mistake', async () => {
  const app = await openApp({ service: api })
  try {
    await assert.rejects(app.createKey({ scopes: ['admin'] }), {
      message: /^createKey: \/scopes.* live/,
    })
    const scopes = ['users:read', 'users:fly']
    await assert.rejects(app.createKey({ scopes, mode: 'prod' as 'live' }), (error: Error) => {
      assert.match(error.message, /\/scopes\/1 /)
      assert.match(error.message, /\/mode /)
      return true
    })
    assert.match(await app.createKey({ scopes: ['admin'], mode: 'live' }), /^gk_live_/)
  } finally {
    await app.close()
  }
})

test('apps of one process list the fields of their own service', async () => {
  const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
  const options = { access, events: [], list: { filter: ['size'], sort: [] } } as const
  const common = { id: f.id(), size: f.int() }
  const versions = { v1: { released: '2026-01-01' } }
  for (const fields of [common, { ...common, title: f.string().default('blue') }]) {
    const notes = resource('notes', { ...options, fields })
    const app = await openApp({ service: service({ name: 'n', versions, resources: [notes] }) })
    const headers = { 'x-api-key': await app.createKey() }
    await app.request('/api/v1/notes', { method: 'POST', headers, body: { size: 2 } })
    const list = await app.request('/api/v1/notes?size=2', { headers })
    const { data } = (await list.json()) as { data: object[] }
    assert.deepEqual(Object.keys(data[0]!), Object.keys(fields))
    await app.close()
  }
})
