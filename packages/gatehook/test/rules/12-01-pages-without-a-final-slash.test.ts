/** §12.1: the path of a page with a final slash leads to the page; other paths have one form. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'

test('a page redirects from its path with a slash, with the query', async (t) => {
  const { app, get, post } = await openService(t, 'sqlite')
  const pages = app.permissions.filter(
    ({ method, path, callers }) =>
      method === 'GET' && callers === 'anyone' && /^\/(console|portal|docs)(\/[:*].*)?$/.test(path),
  )
  const paths = pages.map(({ path }) =>
    path.replace('*', 'keys').replace(':version', 'v2').replace(':page', 'orders'),
  )
  for (const path of [
    '/console',
    '/console/keys',
    '/portal',
    '/docs',
    '/docs/v2',
    '/docs/v2/orders',
  ]) {
    assert.ok(paths.includes(path), path)
  }
  for (const path of paths) {
    const reply = await get(`${path}/?a=1&b=%20%2F`)
    assert.deepEqual([reply.status, reply.headers.location], [308, `${path}?a=1&b=+%2F`], path)
    const head = await app.inject({ method: 'HEAD', url: `${path}/` })
    assert.deepEqual([head.statusCode, head.headers.location], [308, path])
    assert.equal((await post(`${path}/`)).status, 405, path)
  }
})

test('a redirect stays on this server', async (t) => {
  const { get } = await openService(t, 'sqlite')
  for (const path of ['//example.com/', '/%2F/example.com/']) {
    assert.equal((await get(path)).status, 404, path)
  }
  const { status, headers } = await get('/console//example.com/')
  assert.deepEqual([status, headers.location], [308, '/console//example.com'])
})

test('paths of programs with another slash are 404', async (t) => {
  const { get } = await openService(t, 'sqlite')
  for (const path of ['/api/v2/orders/', '/api/v2/orders/1/', '/webhooks/', '/admin/keys/']) {
    assert.equal((await get(path)).status, 404, path)
  }
  assert.equal((await get('/')).status, 200)
})
